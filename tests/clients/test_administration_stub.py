"""Keys, the audit log, tenants, work and jobs through the generated stub: a claim for each RPC."""

from __future__ import annotations

import json
import time
import uuid

import grpc
import pytest

from contextkeep.context.v1 import administration_pb2 as pb
from contextkeep.context.v1.administration_pb2_grpc import AdministrationStub
from tests.conftest import METADATA, OTHERS
from tests.errors import raised

STUB = AdministrationStub


@pytest.fixture
def made(grpc_stub) -> pb.CreateKeyResponse:
    said = pb.KeyInput(subject=f"agent {uuid.uuid4()}", scopes=["read", "admin"], app_ids=["crm"], ttl_s=60)
    return grpc_stub.CreateKey(pb.CreateKeyRequest(key=said), metadata=METADATA)


def of(made: pb.CreateKeyResponse) -> list[tuple[str, str]]:
    return [("authorization", f"Bearer {made.key}")]


def refusal(call, request, metadata=METADATA) -> str:
    with pytest.raises(grpc.RpcError) as refused:
        call(request, metadata=metadata)
    return raised(refused.value).reason


def test_GetCaller_says_whom_a_key_stands_for_until_it_is_revoked(grpc_stub, made):
    whole = grpc_stub.GetCaller(pb.GetCallerRequest(), metadata=METADATA)
    assert (whole.tenant, whole.key_prefix, whole.HasField("expires_at")) == ("default", "key-of-the-f", False)
    part = grpc_stub.GetCaller(pb.GetCallerRequest(), metadata=of(made))
    assert (part.tenant_id, part.key_prefix) == (whole.tenant_id, made.prefix)
    assert (part.scopes, part.app_ids) == (["admin", "read"], ["crm"])
    assert part.HasField("expires_at")
    for wrong in ([], [("authorization", f"Bearer {made.key}x")]):
        assert refusal(grpc_stub.GetCaller, pb.GetCallerRequest(), wrong) == "UNAUTHENTICATED"


def test_CreateKey_gives_no_more_than_the_key_that_asks_has(grpc_stub, made):
    assert made.key.startswith(made.prefix)
    for more in ({"scopes": ["write"]}, {"scopes": ["read"], "app_ids": ["erp"]}, {"scopes": ["read"], "ttl_s": 600}):
        said = pb.KeyInput(**{"subject": "x", "app_ids": ["crm"], "ttl_s": 10, **more})
        assert refusal(grpc_stub.CreateKey, pb.CreateKeyRequest(key=said), of(made)) == "PERMISSION_DENIED"
    part = pb.KeyInput(subject="a part", scopes=["read"], app_ids=["crm"], ttl_s=10)
    assert grpc_stub.CreateKey(pb.CreateKeyRequest(key=part), metadata=of(made)).key


def test_ListKeys_shows_what_a_key_is_within_the_bounds_of_who_asks(grpc_stub, made):
    listed = grpc_stub.ListKeys(pb.ListKeysRequest(), metadata=METADATA).keys
    (mine,) = (one for one in listed if one.prefix == made.prefix)
    assert (mine.scopes, mine.app_ids, mine.made_by) == (["read", "admin"], ["crm"], "key-of-the-f")
    assert mine.HasField("expires_at")
    assert made.key not in str(listed)
    seen = grpc_stub.ListKeys(pb.ListKeysRequest(), metadata=of(made)).keys
    assert made.prefix in {one.prefix for one in seen}
    assert all(one.app_ids == ["crm"] for one in seen)


def test_RevokeKey_takes_back_a_part_of_ones_own_only(grpc_stub, made):
    whole = pb.RevokeKeyRequest(prefix="key-of-the-f")
    assert refusal(grpc_stub.RevokeKey, whole, of(made)) == "KEY_NOT_FOUND"
    for _ in range(2):
        grpc_stub.RevokeKey(pb.RevokeKeyRequest(prefix=made.key), metadata=METADATA)
    (mine,) = (
        one for one in grpc_stub.ListKeys(pb.ListKeysRequest(), metadata=METADATA).keys if one.prefix == made.prefix
    )
    assert mine.HasField("revoked_at")


def test_ListAdministrativeCalls_has_what_was_done_and_what_was_refused(grpc_stub, made):
    assert refusal(grpc_stub.RevokeKey, pb.RevokeKeyRequest(prefix="cgk_nobodys_")) == "KEY_NOT_FOUND"
    listed = grpc_stub.ListAdministrativeCalls(pb.ListAdministrativeCallsRequest(page_size=2), metadata=METADATA).calls
    assert [(one.method.rpartition("/")[2], one.status, one.reason) for one in listed] == [
        ("RevokeKey", "NOT_FOUND", "KEY_NOT_FOUND"),
        ("CreateKey", "OK", ""),
    ]
    assert (listed[0].subject, listed[0].scope) == ("first", "admin")
    one = pb.ListAdministrativeCallsRequest(call_id=listed[1].call_id)
    assert list(grpc_stub.ListAdministrativeCalls(one, metadata=METADATA).calls) == [listed[1]]
    assert not grpc_stub.ListAdministrativeCalls(one, metadata=of(made)).calls  # it is bound, and that call was not


def test_GetUsage_has_the_limits_that_hold(grpc_stub):
    usage = grpc_stub.GetUsage(pb.GetUsageRequest(), metadata=METADATA)
    assert usage.limits.blob_bytes_max > 2**30
    assert not usage.limits.HasField("records_max")


def test_ListTenants_has_all_of_them_for_operators_alone(grpc_stub):
    names = [one.name for one in grpc_stub.ListTenants(pb.ListTenantsRequest(), metadata=METADATA).tenants]
    assert names == ["default", "other"]
    first = grpc_stub.ListTenants(pb.ListTenantsRequest(page_size=1), metadata=METADATA)
    second = pb.ListTenantsRequest(page_size=1, page_token=first.next_page_token)
    assert [one.name for one in grpc_stub.ListTenants(second, metadata=METADATA).tenants] == ["other"]
    assert refusal(grpc_stub.ListTenants, pb.ListTenantsRequest(), OTHERS) == "PERMISSION_DENIED"


def test_SetTenantLimits_changes_what_the_mask_names(grpc_stub):
    request = pb.SetTenantLimitsRequest(tenant="other", limits=pb.TenantLimits(records_max=5, bytes_max=7))
    request.update_mask.paths.append("records_max")
    assert grpc_stub.SetTenantLimits(request, metadata=METADATA).tenant.limits == pb.TenantLimits(records_max=5)
    request = pb.SetTenantLimitsRequest(tenant="other")
    request.update_mask.paths.append("records_max")
    assert grpc_stub.SetTenantLimits(request, metadata=METADATA).tenant.limits == pb.TenantLimits()
    assert refusal(grpc_stub.SetTenantLimits, request, OTHERS) == "PERMISSION_DENIED"
    request.tenant = "nobody"
    assert refusal(grpc_stub.SetTenantLimits, request) == "TENANT_NOT_FOUND"
    request.limits.records_max = -1
    assert refusal(grpc_stub.SetTenantLimits, request) == "INVALID_ARGUMENT"
    request.update_mask.paths.append("tenant_id")
    assert refusal(grpc_stub.SetTenantLimits, request) == "INVALID_ARGUMENT"


def test_ListBackgroundWork_names_kinds_of_which_something_is_owed(grpc_stub):
    owed = grpc_stub.ListBackgroundWork(pb.ListBackgroundWorkRequest(), metadata=METADATA).work
    assert all(one.owed > 0 and one.kind for one in owed)
    assert refusal(grpc_stub.ListBackgroundWork, pb.ListBackgroundWorkRequest(), OTHERS) == "PERMISSION_DENIED"


def test_RetryBackgroundWork_counts_what_is_tried_again(grpc_stub):
    request = pb.RetryBackgroundWorkRequest(kind="nothing of ours")
    assert grpc_stub.RetryBackgroundWork(request, metadata=METADATA).retried == 0
    assert refusal(grpc_stub.RetryBackgroundWork, request, OTHERS) == "PERMISSION_DENIED"
    assert refusal(grpc_stub.RetryBackgroundWork, pb.RetryBackgroundWorkRequest()) == "INVALID_ARGUMENT"


def over(grpc_stub, job: pb.Job) -> pb.Job:
    """Return a job when it is over."""
    until = time.monotonic() + 60
    while job.state == pb.JOB_STATE_RUNNING:
        assert time.monotonic() < until, job
        job = grpc_stub.GetJob(pb.GetJobRequest(job_id=job.job_id), metadata=METADATA).job
    return job


def test_StartJob_does_it_behind_the_answer(grpc_stub):
    request = pb.StartJobRequest(kind=pb.JOB_KIND_FSCK, quick=True)
    job = over(grpc_stub, grpc_stub.StartJob(request, metadata=METADATA).job)
    assert (job.kind, job.quick, job.repair, job.error, job.started_by) == (pb.JOB_KIND_FSCK, True, False, "", "first")
    assert job.state == pb.JOB_STATE_DONE
    assert json.loads(job.progress_json)["problem_count"] >= 0
    assert refusal(grpc_stub.StartJob, request, OTHERS) == "PERMISSION_DENIED"
    assert refusal(grpc_stub.StartJob, pb.StartJobRequest()) == "INVALID_ARGUMENT"


def test_GetJob_is_of_the_tenant_that_started_it(grpc_stub):
    job = over(grpc_stub, grpc_stub.StartJob(pb.StartJobRequest(kind=pb.JOB_KIND_SWEEP), metadata=METADATA).job)
    request = pb.GetJobRequest(job_id=job.job_id)
    assert grpc_stub.GetJob(request, metadata=METADATA).job == job
    assert refusal(grpc_stub.GetJob, request, OTHERS) == "PERMISSION_DENIED"
    assert refusal(grpc_stub.GetJob, pb.GetJobRequest(job_id=str(uuid.uuid4()))) == "JOB_NOT_FOUND"


def test_ListJobs_has_the_newest_first(grpc_stub):
    request = pb.StartJobRequest(kind=pb.JOB_KIND_SWEEP)
    ids = [over(grpc_stub, grpc_stub.StartJob(request, metadata=METADATA).job).job_id for _ in range(2)]
    listed = grpc_stub.ListJobs(pb.ListJobsRequest(page_size=2), metadata=METADATA)
    assert [one.job_id for one in listed.jobs] == ids[::-1]
    assert refusal(grpc_stub.ListJobs, pb.ListJobsRequest(), OTHERS) == "PERMISSION_DENIED"
