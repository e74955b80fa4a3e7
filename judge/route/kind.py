"""What kind of task it is, where its form shows it: work on code, a challenge, a dialogue with tools.

The task decides before the run does, because rollouts of one task must meet one rubric; the run is asked only
where the instruction is silent. Which of these a rubric version knows is not covered here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from judge.schema import Step, Trajectory

_CHALLENGE = re.compile(r"\bCTF (?:challenge|problem|task)\b|\bcapture[- ]the[- ]flag\b", re.I)
# A repository that is only named is not enough: GUI agents open issues and star repositories too.
_CODE_TASK = re.compile(
    r"<(?:issue_description|pr_description|uploaded_files)>|\bissue within our repository\b|\bdiff --git\b"
    r"|\b(?:fix|resolve|solve|implement|refactor|patch)\b[^.\n]{0,80}\b(?:repo|repository|codebase)\b"
    r"|\b(?:fix|make|get)\b[^.\n]{0,60}\btests?\b|\btraceback \(most recent call last\)"
    r"|\b(?:pytest|unittest|stack trace|segfault)\b"
    r"|\b(?:ModuleNotFound|Import|Type|Value|Key|Attribute|Syntax)Error\b"
    r"|(?<![\w/:.@])(?:[\w.-]+/)*[\w-]+\.(?:pyi?|ipynb|rs|cpp|hpp|kt|rb)\b(?!/)"
    r"|(?<![\w/:.@])(?:[\w.-]+/)+[\w-]+\.(?:jsx?|tsx?|go|java|c|cc|h|php|cs|swift|scala|sh|sql)\b"
    r"|\b(?:throws|raises)\b[^.\n]{0,30}\b\w*(?:error|exception)\b|\bundefined reference\b"
    r"|\b(?:fails? to|does(?:n't| not)) (?:compile|build)\b|\bbuild (?:fails|is broken)\b"
    r"|\bcover\b[^.\n]{0,40}\btests\b|(?<!\w)/[\w/{}:-]{1,60} endpoint\b"
    r"|(?:修复|实现|重构|修改)[^。\n]{0,30}(?:代码|仓库|单元测试|函数|接口|异常|算法|类(?![别型似]))",
    re.I,
)
# A user to be simulated is told who they are, how they identify themselves, what they want and who answers.
# Two of the four tell such a script from a prompt that tells an agent who it is ("use any tool you want").
_USER_SCRIPT = (
    re.compile(
        r"\A\s*(?:[Yy]ou(?:r)? name is\b|[Yy]ou(?:['’]re| are)?\s+(?:user )?['\"]?(?:[A-Z][a-z]+\b|\w*_\d)"
        r"|(?:[Aa]ct as|[Pp]lay(?: the role of)?|[Yy]ou(?:['’]re| are)) an? [^.\n]{0,40}?"
        r"\b(?:customer|caller|guest|passenger|travell?er|client|patient|guy|buyer)\b"
        r"|(?:假设|假如|请)?(?:你叫|你的名字|你是|扮演)[^，。\n]{1,20}[，。：])"
    ),
    re.compile(
        r"\byour (?:e-?mail|zip code|user id|phone number)\b|[a-z]_\d{3,}\b"
        r"|你的(?:邮箱|手机号|订单号|会员号)",
        re.I,
    ),
    re.compile(
        r"(?:\A|[.,;:!?)]\s+|\b(?:and|but|so|then) )[Yy]ou(?:['’]d| would| are)?(?: also| just| now)?"
        r" (?:want|wish|prefer|wonder|like|willing)\b|你(?:只|就|还|也)?(?:想|希望|要求|打算)"
    ),
    re.compile(
        r"\b(?:the|an?) (?:customer |support |service |human )*(?:agent|representative)\b|客服|坐席|业务员",
        re.I,
    ),
)
_EDITOR = re.compile(
    r"(?:edit(?:_file)?|str_replace(?:_editor|_based_edit_tool)?|search_replace|apply_patch|insert"
    r"|(?:create|write)_file)(?!\w)"
)
_CODE_COMMAND = re.compile(
    r"\bgit (?:diff|status|log|add|commit|apply|stash|checkout)\b|\bpytest\b|\bpython3? -m unittest\b|\btox\b"
    r"|\b(?:npm|yarn|pnpm|go|cargo|mvn|dotnet|mix) (?:run )?test\b|\bgradlew? test\b|\bmake (?:test|check)\b"
)
_MESSAGE = frozenset({"message", "send_msg_to_user", "respond", "reply_to_user"})


@lru_cache(maxsize=2048)
def settled_by(instruction: str) -> tuple[str, str] | None:
    """The category that an instruction settles by its form, and why; None where it settles none."""
    if _CHALLENGE.search(instruction):
        return "general", "a challenge, to be met by any means"
    if _CODE_TASK.search(instruction):
        return "code_change", "a task about code"
    if sum(sign.search(instruction) is not None for sign in _USER_SCRIPT) >= 2:
        return "tool_dialogue", "the script of a simulated user"
    return None


def works_on_code(steps: Sequence[Step]) -> bool:
    """Whether a run edited files and used a repository: the last resort where the task says nothing."""
    return any(map(_edits, steps)) and any(_CODE_COMMAND.search(_command(step)) for step in steps)


def _edits(step: Step) -> bool:
    return any(_EDITOR.match(name) for name in (step.action, *(call.name for call in step.tool_calls)))


def _command(step: Step) -> str:
    return " ".join([step.action, *(str(call.arguments) for call in step.tool_calls)])


def is_dialogue(trajectory: Trajectory) -> bool:
    """Whether a policy was given, or the agent called tools and somebody answered what it said."""
    if trajectory.context.get("policy", "").strip():
        return True
    steps = trajectory.steps
    if not any(step.tool_calls for step in steps):
        return False
    return any(step.role == "user" for step in steps[1:]) or any(_is_answered(step) for step in steps)


def _is_answered(step: Step) -> bool:
    # A message that nobody answered may be the report in which any run with tools ends.
    return step.action_type in _MESSAGE and not step.tool_calls and bool(step.observation.strip())
