"""Settings: what wins over what, what is refused and how it is named, and that no key is ever among them.

Not covered: what the settings do (each stage's own tests).
"""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from judge.config import EMBEDDED_MODEL, Config, Endpoint, load_yaml
from judge.errors import ConfigError

VARIABLES = (
    "JUDGE_BASE_URL",
    "JUDGE_MODEL",
    "JUDGE_CONFIG",
    "JUDGE_API_KEY",
    "OPENAI_BASE_URL",
    "OPENAI_API_KEY",
)


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def settings(tmp_path: Path):
    """Writes a settings file and gives its path."""

    def write(text: str, name: str = "judge.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


class TestDefaults:
    def test_the_documented_ones(self):
        config = Config()
        judge = config.judge
        assert (judge.temperature, judge.seed, judge.max_tokens, judge.timeout_s) == (0, 0, 1024, 60)
        assert (judge.deadline_s, judge.max_attempts, judge.max_reask, judge.backoff_s) == (180, 4, 1, 0.5)
        assert (judge.max_retry_after_s, judge.concurrency, judge.vision) == (60, 32, "auto")
        assert (config.rubrics.version, config.rubrics.router, config.rubrics.fine) == (
            "adapt_v1",
            "rules",
            "auto",
        )
        assert (config.frames.max_frames, config.steps.mode, config.steps.at) == (10, "none", [3, 6, 9])
        assert (config.reward.scheme, config.reward.outcome_from) == ("score", "auto")
        assert (config.on_empty, config.on_error, config.context_retry) == ("fail", "none", "off")

    def test_the_cache_lies_where_the_user_keeps_caches(self, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
        assert Config().cache.dir == Path("/caches/adaptive-judge")

    def test_nothing_falls_back_to_the_embedded_judge(self):
        assert not Config().judge.is_embedded
        assert Config(judge={"model": EMBEDDED_MODEL}).judge.identity == "embedded"


class TestPrecedence:
    FILE = "judge:\n  base_url: http://file/v1\n  model: file-model\n"

    @pytest.mark.parametrize("key", ["base_url", "model"])
    def test_keyword_over_judge_variables_over_file(self, settings, monkeypatch, key):
        path = settings(self.FILE)
        assert "file" in getattr(Config.load(path).judge, key)
        monkeypatch.setenv(f"JUDGE_{key.upper()}", " http://environment/v1 ")
        assert getattr(Config.load(path).judge, key) == "http://environment/v1"
        assert getattr(Config.load(path, judge={key: "keyword"}).judge, key) == "keyword"
        assert getattr(Config(judge={key: "keyword"}).judge, key) == "keyword"
        assert getattr(Config().judge, key) == "http://environment/v1"

    def test_the_openai_variable_comes_last_because_it_often_names_the_policy(self, settings, monkeypatch):
        monkeypatch.setenv("OPENAI_BASE_URL", "http://policy/v1")
        assert Config().judge.base_url == "http://policy/v1"
        assert Config.load(settings(self.FILE)).judge.base_url == "http://file/v1"
        monkeypatch.setenv("JUDGE_BASE_URL", "http://environment/v1")
        assert Config().judge.base_url == "http://environment/v1"

    def test_a_blank_variable_is_not_set(self, settings, monkeypatch):
        monkeypatch.setenv("JUDGE_MODEL", "  ")
        assert Config.load(settings(self.FILE)).judge.model == "file-model"
        assert Config().judge.model is None

    def test_judge_config_names_the_file_unless_one_is_given(self, settings, monkeypatch):
        monkeypatch.setenv("JUDGE_CONFIG", str(settings(self.FILE)))
        assert Config.load().judge.model == "file-model"
        other = settings("judge: {model: other}", "other.yaml")
        assert Config.load(other).judge.model == "other"
        assert Config().judge.model is None

    def test_keywords_are_laid_over_the_file_key_by_key(self, settings):
        path = settings("judge:\n  model: m\n  seed: 3\nframes: {max_frames: 4}\n")
        config = Config.load(path, judge={"seed": 7}, rubrics={"version": "static_v1"})
        assert (config.judge.model, config.judge.seed) == ("m", 7)
        assert (config.frames.max_frames, config.rubrics.version) == (4, "static_v1")

    def test_purposes_merge_too(self, settings):
        path = settings(
            "judge:\n  model: m\n  purposes:\n    fine: {model: small, seed: 1}\n    route: {seed: 2}\n"
        )
        judge = Config.load(path, judge={"purposes": {"fine": {"seed": 9}}}).judge
        assert (judge.endpoint("fine").model, judge.endpoint("fine").seed) == ("small", 9)
        assert (judge.endpoint("route").model, judge.endpoint("route").seed) == ("m", 2)
        assert (judge.endpoint("trajectory").model, judge.endpoint("trajectory").seed) == ("m", 0)


class TestFile:
    def test_json_is_yaml_too(self, settings):
        assert Config.load(settings('{"judge": {"model": "m"}}', "judge.json")).judge.model == "m"

    def test_an_empty_file_and_empty_sections_are_the_defaults(self, settings):
        assert Config.load(settings("")) == Config()
        assert Config.load(settings("judge:\nframes:\n  # max_frames: 4\n")) == Config()

    @pytest.mark.parametrize(
        ("written", "read"), [("on", "on"), ("off", "off"), ("auto", "auto"), ("no", "off")]
    )
    def test_a_bare_on_or_off_needs_no_quotes(self, settings, written, read):
        path = settings(f"judge: {{vision: {written}}}\nrubrics: {{fine: {written}}}\ncontext_retry: off\n")
        config = Config.load(path)
        assert (config.judge.vision, config.rubrics.fine, config.context_retry) == (read, read, "off")

    def test_merge_keys_are_no_duplicates(self, settings):
        path = settings(
            "judge:\n  model: &m big\n  purposes:\n    fine: &p {seed: 1}\n    route: {<<: *p, seed: 2}\n"
        )
        assert Config.load(path).judge.endpoint("route").seed == 2

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("judge: {model: a}\njudge: {model: b}\n", "'judge' is given twice .*line 2"),
            ("judge:\n  seed: 1\n  seed: 2\n", "'seed' is given twice .*line 3"),
            ("judge: [\n", "not valid YAML: .*line 2"),
            ("judge: \x00", "not valid YAML: "),
            ("{[a]: 1}", "a key must be a plain value"),
            ("- judge\n", "holds a list, not a mapping"),
            ("on: true\n", "True: unknown key"),
            ("judge: {on: 1}\n", "judge.True: unknown key"),
            ("jugde: {}\n", "jugde: unknown key"),
            ("judge:\n  modle: m\n", "judge.modle: unknown key"),
            ("judge:\n  api_key: abc\n", "judge.api_key: unknown key"),
            ("judge: 5\n", "judge: must be an object .it is 5"),
            ("judge: {model: 010}\n", "judge.model: must be text .it is 8"),
            ("judge: {purposes: {fine: {modle: m}}}\n", "judge: purposes.fine: modle: unknown key"),
            ("judge: {purposes: {grade: {}}}\n", "judge.purposes.grade"),
            ("frames: {max_frames: 0}\n", "frames.max_frames: .*greater than or equal to 1 .it is 0"),
            ("judge: {temperature: .nan}\n", "judge.temperature: "),
            ("rubrics: {router: magic}\n", "rubrics.router: .*'rules', 'llm' or 'joint'.*'magic'"),
            ("reward: {scheme: tarl}\n", "reward.scheme tarl needs step verdicts: set steps.mode to whole"),
            (
                "reward: {scheme: gvpo_process}\nsteps: {mode: whole}\n",
                "set steps.mode to prefix .it is whole",
            ),
            ("reward: {scheme: weighted}\n", "reward: scheme weighted needs reward.weights"),
        ],
    )
    def test_what_it_cannot_use_names_file_and_key(self, settings, text, message):
        path = settings(text)
        with pytest.raises(ConfigError, match=message) as raised:
            Config.load(path)
        assert raised.value.message.startswith(f"{path}: ")

    def test_a_file_is_not_blamed_for_what_was_laid_over_it(self, settings):
        path = settings("judge: {model: m}\n")
        with pytest.raises(ConfigError, match=r"^judge\.concurrency: "):
            Config.load(path, judge={"concurrency": 0})

    def test_a_file_that_is_not_there_is_named(self, tmp_path):
        with pytest.raises(ConfigError, match=r"absent\.yaml: cannot be read: No such file"):
            load_yaml(tmp_path / "absent.yaml")

    def test_text_that_is_not_utf_8_is_said(self, tmp_path):
        (tmp_path / "judge.yaml").write_bytes(b"judge: {model: \xff}")
        with pytest.raises(ConfigError, match=r"judge\.yaml: not valid YAML: .*utf-8"):
            Config.load(tmp_path / "judge.yaml")


class TestKeywords:
    def test_unknown_keys_are_named(self):
        with pytest.raises(ConfigError, match=r"^rubrics\.versoin: unknown key$"):
            Config(rubrics={"versoin": "adapt_v1"})
        with pytest.raises(ConfigError, match=r"^modle: unknown key$"):
            Config(modle="m")

    def test_several_faults_are_one_message(self):
        with pytest.raises(ConfigError, match=r"frames\.max_frames: .*; on_empty: "):
            Config(frames={"max_frames": "many"}, on_empty="skip")

    def test_step_schemes_with_their_mode_are_accepted(self):
        assert Config(reward={"scheme": "tarl"}, steps={"mode": "whole"}).steps.mode == "whole"
        assert (
            Config(reward={"scheme": "gvpo_process"}, steps={"mode": "prefix", "at": "all"}).steps.at == "all"
        )

    @pytest.mark.parametrize(
        "off", [{"cache": {"dir": None}, "log": {"path": None}}, {"cache": None, "log": None}]
    )
    def test_none_turns_cache_and_log_off(self, settings, off):
        path = settings("cache: {dir: here}\nlog: {path: here.jsonl}\n")
        for config in (Config(**off), Config.load(path, **off)):
            assert (config.cache.dir, config.log.path) == (None, None)

    def test_a_tilde_is_the_home_folder(self, monkeypatch):
        monkeypatch.setenv("HOME", "/data/someone")
        config = Config(cache={"dir": "~/judge"}, log={"path": "~/{pid}.jsonl"})
        assert config.cache.dir == Path("/data/someone/judge")
        assert config.log.path == Path("/data/someone/{pid}.jsonl")

    def test_it_is_frozen(self):
        with pytest.raises(ValueError, match="frozen"):
            Config().on_error = "zero"


class TestEndpoint:
    def test_its_identity_outlives_a_move(self):
        moved = [Endpoint(base_url=url, endpoint_id="lab").identity for url in ("http://a", "http://b")]
        assert moved == ["lab", "lab"]
        assert Endpoint(base_url="http://a").identity == "http://a"

    def test_a_purpose_elsewhere_does_not_take_along_what_belongs_here(self):
        judge = Config(
            judge={
                "base_url": "http://here",
                "endpoint_id": "lab",
                "extra_body": {"top_k": 1},
                "api_key_env": "LAB_KEY",
                "purposes": {"fine": {"base_url": "http://there"}, "route": {"model": "small"}},
            }
        ).judge
        there, here = judge.endpoint("fine"), judge.endpoint("route")
        assert (there.identity, there.extra_body, there.api_key_env) == ("http://there", {}, None)
        assert (here.identity, here.extra_body, here.api_key_env) == ("lab", {"top_k": 1}, "LAB_KEY")


class TestApiKey:
    def test_it_comes_from_the_environment_the_judges_own_first(self, monkeypatch):
        endpoint = Endpoint()
        assert endpoint.api_key() is None
        monkeypatch.setenv("OPENAI_API_KEY", "policy")
        assert endpoint.api_key() == "policy"
        monkeypatch.setenv("JUDGE_API_KEY", " judge ")
        assert endpoint.api_key() == "judge"
        monkeypatch.setenv("LAB_KEY", "lab")
        assert Endpoint(api_key_env="LAB_KEY").api_key() == "lab"

    def test_a_misspelled_variable_does_not_send_another_endpoints_key(self, monkeypatch):
        monkeypatch.setenv("JUDGE_API_KEY", "judge")
        with pytest.raises(ConfigError, match=r"judge\.api_key_env names LAB_KYE, which is not set"):
            Endpoint(api_key_env="LAB_KYE").api_key()

    def test_a_key_in_place_of_its_variable_is_refused_without_repeating_it(self):
        with pytest.raises(ConfigError, match="must be the name of an environment variable") as raised:
            Config(judge={"api_key_env": "sk-secret-123"})
        assert "secret" not in raised.value.message
        assert raised.value.__cause__ is None

    def test_no_config_holds_one(self, monkeypatch):
        monkeypatch.setenv("JUDGE_API_KEY", "s3cret")
        monkeypatch.setenv("LAB_KEY", "s3cret")
        config = Config(judge={"api_key_env": "LAB_KEY"})
        assert config.judge.api_key() == "s3cret"
        shown = [repr(config), config.model_dump_json(), pickle.dumps(config).decode("latin-1")]
        assert not [text for text in shown if "s3cret" in text]


def test_a_config_crosses_a_process_boundary_unchanged(settings, monkeypatch):
    monkeypatch.setenv("JUDGE_MODEL", "here")
    config = Config.load(settings("judge: {purposes: {fine: {seed: 4}}}\nsteps: {at: all}\n"))
    monkeypatch.setenv("JUDGE_MODEL", "there")
    copy = pickle.loads(pickle.dumps(config))
    assert copy == config
    assert copy.judge.model == "here"


def test_a_fault_shows_the_head_of_a_long_value():
    with pytest.raises(ConfigError) as raised:
        Config(judge={"timeout_s": "x" * 10_000})
    assert "timeout_s" in raised.value.message
    assert len(raised.value.message) < 300
