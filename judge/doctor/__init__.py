"""`diagnose`: whether judgements can work under a configuration, and what to do where they cannot.

Covers each endpoint that the configuration asks (address, key, proxy, models, a tiny judgement, parameters,
images), the cache folder and the reward log. Nothing is judged for keeps, cached or logged, and no key or
token is shown. Not covered: how good a judge the model is; `judge agreement` tells that.
"""

from __future__ import annotations

from collections.abc import Iterator

from judge import loops, prompt
from judge.client.probe import Probe
from judge.config import EMBEDDED_MODEL, Config, Endpoint
from judge.doctor.address import check_address, check_proxy, is_local
from judge.doctor.calls import Examination
from judge.doctor.finding import Finding, Level
from judge.doctor.key import check_key
from judge.doctor.places import check_cache, check_log
from judge.errors import ConfigError
from judge.pipeline import Version
from judge.schema import Content, Frame, Request

__all__ = ["Finding", "Level", "diagnose"]


def diagnose(config: Config) -> Iterator[Finding]:
    """The findings, each as soon as it is known: a handful of requests go to each endpoint.

    Raises ConfigError and RubricError, as a Judge would, for a rubric version that cannot be used.
    """
    version = Version.load(config, config.rubrics.version)
    if config.judge.is_embedded:
        what = f"{EMBEDDED_MODEL} needs no endpoint; it is a stand-in, not a training reward"
        yield Finding("ok", "judge", what)
    else:
        for endpoint, purposes in _endpoints(config, version):
            yield from _examined(endpoint, purposes, _question(version))
    yield check_cache(config.cache)
    yield check_log(config.log)


def _endpoints(config: Config, version: Version) -> list[tuple[Endpoint, list[str]]]:
    """Each endpoint that is asked or named, with its purposes."""
    graded = {"none": ["trajectory"], "whole": ["steps"], "prefix": ["trajectory", "steps"]}
    asked = [
        *graded[config.steps.mode],
        *(["fine"] if version.fine != "off" else []),
        *(["route"] if config.rubrics.router == "llm" else []),
        *config.judge.purposes,
    ]
    found: list[tuple[Endpoint, list[str]]] = []
    for purpose in dict.fromkeys(asked):
        endpoint = config.judge.endpoint(purpose)
        known = next((purposes for other, purposes in found if other == endpoint), None)
        if known is None:
            found.append((endpoint, [purpose]))
        else:
            known.append(purpose)
    return found


def _examined(endpoint: Endpoint, purposes: list[str], question: Request) -> Iterator[Finding]:
    address = check_address(endpoint, purposes)
    yield address
    if address.level == "fail":
        return
    key = check_key(endpoint, is_local(endpoint))
    yield key
    if proxy := check_proxy(endpoint):
        yield proxy
    if key.level != "fail":
        yield from loops.run(_asked(endpoint, question))


async def _asked(endpoint: Endpoint, question: Request) -> list[Finding]:
    try:
        probe = Probe(endpoint)
    except ConfigError as error:
        what, _, remedy = error.message.partition(": ")
        return [Finding("fail", "call", what, remedy)]
    try:
        return await Examination(endpoint, probe, question).findings()
    finally:
        await probe.close()


def _question(version: Version) -> Request:
    """A judgement of a run of one step, under the rubric and in the words that real runs are judged by."""
    frame = Frame(0, action="set_timer(minutes=5)", observation="Timer set for 5 minutes.")
    content = Content(
        instruction="Set a timer for 5 minutes.",
        rubric=version.library.rubric("general"),
        frames=(frame,),
        total_steps=1,
    )
    return prompt.trajectory_request(version.prompts, content)
