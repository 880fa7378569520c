"""What is deployed is valid, says nothing that the settings do not know, and runs as nobody in particular."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import promql_parser
import pytest
import yaml

import context_service.settings
import entity_service.settings
from contextkeep_console import settings as console_settings
from contextkeep_console.settings import Settings as ConsoleSettings
from tests.conftest import Addresses

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
BIN = Path(sys.executable).parent
VARIABLES = {
    name.upper()
    for settings in (context_service.settings.Settings, entity_service.settings.Settings)
    for name in settings.model_fields
} | set(console_settings.VARIABLES)
OFF_BY_DEFAULT = {"console.yaml", "secret.example.yaml"}
OF_THE_IMAGES = {"HEALTH_ADDRESS", "CONTEXT_SERVICE_API_KEY", "POSTGRES_PASSWORD", "OWNER_PASSWORD", "SERVICE_PASSWORD"}


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)


def documents() -> Iterator[dict[str, Any]]:
    for path in MANIFESTS:
        yield from yaml.safe_load_all(path.read_text("utf-8"))


def pods() -> list[dict[str, Any]]:
    found = []
    for document in documents():
        spec = document.get("spec", {})
        spec = spec["jobTemplate"]["spec"] if document["kind"] == "CronJob" else spec
        if document["kind"] in ("Deployment", "Job", "CronJob"):
            found.append(spec["template"]["spec"])
    return found


def test_the_dockerfile_has_no_fault_that_a_linter_knows():
    done = run(BIN / "hadolint", DEPLOY / "Dockerfile")

    assert done.returncode == 0, done.stdout


def test_the_manifests_are_what_kubernetes_takes():
    done = run(BIN / "kubernetes-validate", "--strict", *MANIFESTS)

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(list(documents())) > 10


def test_every_alert_can_be_evaluated_and_is_explained():
    explained = set(
        re.findall(r"^\| `(ContextKeep\w+)` \|", (ROOT / "docs/operations.md").read_text("utf-8"), re.MULTILINE)
    )
    (group,) = yaml.safe_load((DEPLOY / "alerts/context-service.yaml").read_text("utf-8"))["groups"]

    assert {rule["alert"] for rule in group["rules"]} == explained
    for rule in group["rules"]:
        promql_parser.parse(rule["expr"])  # raises what is wrong
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"]


def test_every_panel_of_the_dashboard_can_be_evaluated():
    panels = json.loads((DEPLOY / "dashboards/context-service.json").read_text("utf-8"))["panels"]

    assert len({panel["id"] for panel in panels}) == len(panels)
    for target in (target for panel in panels for target in panel["targets"]):
        promql_parser.parse(target["expr"].replace("$__rate_interval", "5m"))  # raises what is wrong


def test_the_kustomization_names_every_manifest_but_what_is_off_by_default():
    kustomization = yaml.safe_load((DEPLOY / "kubernetes/kustomization.yaml").read_text("utf-8"))

    assert set(kustomization["resources"]) == {path.name for path in MANIFESTS} - OFF_BY_DEFAULT


def test_every_variable_is_one_that_the_settings_know():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
    named = {name for service in compose["services"].values() for name in service.get("environment", {})}
    named |= {
        line.partition("=")[0] for line in (DEPLOY / "kubernetes/settings.env").read_text("utf-8").splitlines() if line
    }
    named |= {name for document in documents() for name in document.get("stringData", {})}
    image = (DEPLOY / "Dockerfile").read_text("utf-8")
    named |= set(re.findall(r"^\s+([A-Z_]+)=", image, re.MULTILINE)) - {"PYTHONUNBUFFERED"}

    assert len(named) > 15
    assert named - OF_THE_IMAGES <= VARIABLES


def test_no_container_is_root_or_may_become_it():
    assert len(pods()) == 6
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in pod["containers"]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]


def test_the_console_is_off_has_no_secret_and_starts_as_it_is_deployed():
    (console,) = [each["containers"][0] for each in pods() if each["containers"][0]["name"] == "console"]
    composed = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]["console"]

    assert composed["profiles"] == ["console"]
    assert "secret" not in json.dumps(console).lower()
    assert not {"API_KEY", "DATABASE_URL"} & composed["environment"].keys()
    for variables in ({each["name"]: each["value"] for each in console["env"]}, composed["environment"]):
        assert ConsoleSettings.of(variables).host == "0.0.0.0"


def test_only_jobs_have_the_owners_password():
    with_owner = [
        document["metadata"]["name"]
        for document in documents()
        if document["kind"] in ("Deployment", "Job", "CronJob") and "contextkeep-admin" in json.dumps(document)
    ]

    assert sorted(with_owner) == ["clean", "migrate"]


def test_pages_are_compiled_more_often_than_changes_are_forgotten():
    job = cron_jobs()["compile"]

    assert (job.get("suspend", False), job["schedule"], job["concurrencyPolicy"]) == (False, "*/10 * * * *", "Forbid")
    (container,) = job["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["command"][:3] == ["contextkeep", "knowledge", "compile"]


def test_what_moved_tenants_left_behind_is_removed_daily():
    """No erasure reaches it. So nothing else may be needed for it to go."""
    job = cron_jobs()["clean"]

    assert (job.get("suspend", False), job["schedule"], job["concurrencyPolicy"]) == (False, "17 3 * * *", "Forbid")
    (container,) = job["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    done = run(BIN / container["command"][0], *container["command"][1:], "--help")
    assert done.returncode == 0, done.stderr


def cron_jobs() -> dict[str, Any]:
    return {each["metadata"]["name"]: each["spec"] for each in documents() if each["kind"] == "CronJob"}


def test_a_replica_has_longer_to_end_than_its_calls_have():
    drain_s = entity_service.settings.Settings.model_fields["drain_s"].default
    sleeps_s = 3
    for pod in pods():
        if "terminationGracePeriodSeconds" in pod:
            assert pod["terminationGracePeriodSeconds"] > drain_s + sleeps_s


async def test_the_health_check_of_the_image_tells_serving_from_not(services: Addresses):
    check = "service_runtime.grpc_server.healthcheck"

    async def asked(*arguments: str) -> int:
        return (await asyncio.to_thread(run, sys.executable, "-m", check, *arguments)).returncode

    assert await asked(services.entity) == 0
    assert await asked(services.entity, "liveness") == 0
    assert await asked(services.context, "contextkeep.context.v1.WorkingMemory") == 0
    assert await asked(services.entity, "no.such.Service") == 1
    assert await asked("127.0.0.1:1") == 1
    assert await asked() == 2


@pytest.mark.parametrize("service", ["entity-service", "context-service"])
def test_the_commands_of_the_manifests_are_those_of_the_package(service: str):
    done = run(BIN / service, "serve", "--help")

    assert done.returncode == 0
