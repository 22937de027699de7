import os
import pwd
import stat
from pathlib import Path

import pytest

from cede.engine.drive.facts import Checkpointed, Exited
from cede.engine.drive.orders import Hint
from cede.live.executors.local.rights import RightsError, rights_of
from tests.live.executor.stand import ME, ROOT, Stand, shell, task, until

OTHER = "nobody"
needs_root = pytest.mark.skipif(not ROOT, reason="only root can start processes as another account")
needs_other = pytest.mark.skipif(ROOT, reason="root can start processes as any account")


@needs_root
def test_a_job_has_the_rights_of_its_account_and_no_others(stand: Stand) -> None:
    script = "id -u; id -ru; id -g; id -G; grep -E 'Uid|Gid|CapPrm|CapEff|CapInh' /proc/self/status; echo $HOME $USER"
    assert stand.end("job", shell(script, account=OTHER)).code == 0

    account = pwd.getpwnam(OTHER)
    groups = os.getgrouplist(OTHER, account.pw_gid)
    uid, real, gid, all_groups, *status, home = stand.text("job").splitlines()
    assert (uid, real, gid) == (str(account.pw_uid), str(account.pw_uid), str(account.pw_gid))
    assert set(map(int, all_groups.split())) == set(groups)
    assert [line.split()[1:] for line in status[:2]] == [[str(account.pw_uid)] * 4, [str(account.pw_gid)] * 4]
    assert all(int(line.split()[1], 16) == 0 for line in status[2:])
    assert home == f"{account.pw_dir} {OTHER}"


@needs_root
def test_the_supervisor_keeps_the_rights_of_the_server(stand: Stand) -> None:
    stand.run("job", task("sleep", "100", account=OTHER))
    status = Path(f"/proc/{stand.supervisor('job')}/status").read_text().splitlines()

    assert [line.split()[1:] for line in status if line[:4] in ("Uid:", "Gid:")] == [["0"] * 4] * 2
    assert next(line.split()[1:] for line in status if line.startswith("Groups:")) == list(map(str, os.getgroups()))


@needs_root
def test_a_server_that_is_root_never_runs_a_job_as_root_unless_it_is_said(stand: Stand) -> None:
    assert "runs as root and the task names no account" in stand.end("job", task("true", account=None)).error
    assert stand.end("other", task("true", account="root")).code == 0


@needs_root
def test_the_account_reaches_its_own_folders_and_nothing_else(stand: Stand) -> None:
    stand.end("first", task("true", account=OTHER))
    script = f"""
        echo mine > $CEDE_CHECKPOINT_DIR/file && echo mine > $CEDE_CONTROL_DIR/file && echo wrote
        ls {stand.data} || ls {stand.data}/jobs || ls {stand.data}/jobs/job || ls $CEDE_CONTROL_DIR/.. || echo hidden
        cat $CEDE_CONTROL_DIR/../spec.json || cat {stand.data}/jobs/first/attempts/1/0/spec.json || echo closed
        echo x > $CEDE_CONTROL_DIR/../exit.json || echo forged > $CEDE_CONTROL_DIR/../end.json || echo safe
    """
    stand.end("job", shell(script, account=OTHER))

    assert stand.text("job").split() == ["wrote", "hidden", "closed", "safe"]
    owner = pwd.getpwnam(OTHER).pw_uid
    for folder in (stand.data / "jobs" / "job" / "checkpoint", stand.folder("job") / "control"):
        assert (folder.stat().st_uid, stat.S_IMODE(folder.stat().st_mode)) == (owner, 0o700)


def test_all_files_of_a_job_are_closed_to_others(stand: Stand) -> None:
    stand.end("job", shell("echo x"))
    modes = {stat.S_IMODE(path.stat().st_mode) for path in stand.folder("job").iterdir() if path.is_file()}

    assert modes == {0o600}
    assert stat.S_IMODE(stand.data.stat().st_mode) == 0o700


@needs_root
def test_a_folder_that_the_account_may_not_enter_is_no_place_to_work(stand: Stand, data: Path) -> None:
    secret = data.parent / "secret"
    secret.mkdir(mode=0o700)
    (secret / "file").write_text("secret")

    assert stand.end("job", shell("cat file", account=OTHER, cwd=str(secret))).error == (
        f"{OTHER} may not enter its working directory {secret}"
    )


@needs_root
def test_a_program_that_the_account_may_not_run_is_not_run(stand: Stand, data: Path) -> None:
    script = data.parent / "script"
    script.write_text("#!/bin/sh\necho no\n")
    script.chmod(0o700)

    assert "may not be run by this account" in stand.end("job", task(str(script), account=OTHER)).error


@needs_root
def test_a_data_directory_that_the_account_cannot_reach_is_said_to_be_one(data: Path) -> None:
    closed = data.parent / "closed"
    closed.mkdir(mode=0o700)
    stand = Stand(closed / "data")
    stand.open()
    ended = stand.end("job", task("true", account=OTHER))
    stand.clear()

    assert "must lie where every account may pass through" in ended.error


@needs_root
def test_a_foreign_job_writes_to_its_outputs_by_name(stand: Stand) -> None:
    assert stand.end("job", shell("echo one > /dev/stdout; echo two > /proc/self/fd/2", account=OTHER)).code == 0
    assert (stand.text("job"), stand.text("job", stream="err")) == ("one\n", "two\n")


@needs_root
@pytest.mark.parametrize("protocol", ["signal", "shm"])
def test_a_foreign_job_answers_hints(stand: Stand, protocol: str) -> None:
    flag = "printf '\\001' | dd of=$CEDE_CONTROL_DIR/flag bs=1 seek=24 conv=notrunc 2>/dev/null"
    answer = "echo 1 > $CEDE_CONTROL_DIR/done" if protocol == "signal" else flag
    trap = f"trap '{answer}' USR1;" if protocol == "signal" else ""
    loop = "while :; do sleep 0.02; [ $CEDE_PROTOCOL = shm ] && " + flag + "; done"
    stand.run("job", shell(f"{trap} echo ready; {loop}", account=OTHER, protocol=protocol))
    stand.said("job", "ready")
    stand.executor.hint(Hint("job", 1, 1, leaving=True))

    assert stand.wait(Checkpointed, "job").hint == 1
    stand.terminate("job", grace_s=0.1)
    assert stand.wait(Exited, "job").told


@needs_root
def test_a_foreign_job_with_strays_is_ended_whole(stand: Stand) -> None:
    stand.run("job", shell("setsid sleep 100 & setsid sleep 100 & sleep 100", account=OTHER))
    until(lambda: len(stand.processes()) >= 4)
    stand.terminate("job")

    assert stand.wait(Exited, "job").told
    assert stand.processes() == []


def test_a_job_is_killed_before_its_supervisor_when_memory_runs_out(stand: Stand) -> None:
    stand.run("job", task("sleep", "100"))
    job, supervisor = (
        int(Path(f"/proc/{pid}/oom_score_adj").read_text()) for pid in (stand.pid("job"), stand.supervisor("job"))
    )

    assert supervisor < job


@needs_other
def test_a_server_that_is_not_root_runs_everything_as_itself(stand: Stand) -> None:
    stand.end("job", task("id", "-un", account=None))

    assert stand.text("job") == f"{ME}\n"
    assert "cannot start processes as root" in stand.end("other", task("true", account="root")).error
    assert f"every job runs as {ME}, the account of this server" in stand.executor.notices()


@pytest.mark.parametrize("account", ["no-such-account", "", "root:x", "ro\0ot"])
def test_an_unknown_account_has_no_rights(account: str) -> None:
    with pytest.raises(RightsError, match="there is no account"):
        rights_of(account)
