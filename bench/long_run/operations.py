"""An agent that watches a platform for three weeks: alerts, checks that are mostly healthy, deployments, incidents."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bench.long_run.workload import Log

_SERVICES = [
    "checkout",
    "catalog",
    "search",
    "identity",
    "payments",
    "ledger",
    "mailer",
    "gateway",
    "sessions",
    "pricing",
    "shipping",
    "returns",
    "recommender",
    "reviews",
    "media",
    "exports",
    "webhooks",
    "scheduler",
    "notifier",
    "fraud",
    "inventory",
    "invoices",
    "support",
    "reports",
    "partners",
    "loyalty",
    "tracking",
    "profiles",
    "coupons",
    "archive",
]
_PLACES = [
    "primary database",
    "read replicas",
    "message queue",
    "object store",
    "ingress",
    "cache tier",
    "job workers",
    "search nodes",
    "edge proxies",
    "backup jobs",
    "batch cluster",
    "staging stack",
]
_REGIONS = ("eu-central", "eu-west", "us-east", "ap-south")
_METRICS = ("cpu", "memory", "disk", "p99_latency_ms", "error_rate", "queue_lag", "connections", "open_files")
_RULES = (
    "Never restart the {a} of {t} without draining them first.",
    "From now on, page me before you fail over the {a} of {t}.",
    "Always silence the alerts of the {t} {a} before a deployment.",
    "Do not scale the {a} of {t} down at the end of a month.",
    "Whenever the {a} of {t} page twice in an hour, open an incident.",
    "Only ever use the blue pool for the {a} of {t}.",
    "Keep in mind that the {a} of {t} are shared with finance.",
    "We prefer a rollback over a hotfix for the {a} of {t}.",
    "The {a} of {t} must never run without a standby.",
    "Under no circumstances purge the {a} of {t}.",
    "Make sure that a snapshot of the {a} of {t} exists before any change.",
    "Avoid deployments to the {a} of {t} between 17:00 and 19:00.",
    "You are not allowed to touch the {a} of {t} in the freeze.",
    "As a rule, two people look at each change of the {a} of {t}.",
    "All changes of the {a} of {t} must have a ticket.",
    "Stick to the runbook for the {a} of {t}.",
    "Remember that the {a} of {t} need ten minutes to warm up.",
    "Alerts of the {t} {a} should always go to the night shift, too.",
    "Certificates of the {t} {a} may only be renewed by hand.",
    "Don't run two migrations at once on the {a} of {t}.",
    "Nobody may open a shell on the {a} of {t} without telling me.",
    "It is not allowed to copy data out of the {a} of {t}.",
    "In all cases write to the status page first when the {a} of {t} are down.",
    "Leave the old {a} of {t} running until I say so.",
    "No reboots of the {a} of {t} on weekdays.",
)
_CHOICES = (
    ("a canary of five per cent", "a full rollout", "the last full one took the site down"),
    ("two smaller nodes", "one large node", "one node is one failure"),
    ("alerts on burn rate", "alerts on single spikes", "spikes woke people for nothing"),
    ("a warm standby", "restoring from backups", "a restore takes four hours"),
    ("rate limits at the edge", "more workers", "bots make most of the load"),
    ("a weekly rotation of keys", "a yearly one", "the auditors asked for it"),
    ("compressed snapshots", "plain ones", "the disk fills in nine days otherwise"),
)
_DECISIONS = (
    "Decision: for the {a} of {t} we use {x} instead of {y}, because {why}.",
    "We decided on {x} rather than {y} for the {a} of {t}, because {why}.",
    "I chose {x} over {y} for the {a} of {t}: {why}.",
    "We will use {x} for the {a} of {t}, not {y}, since {why}.",
    "Settled on {x} for the {a} of {t}; {y} is out because {why}.",
)
_ALERTS = (
    ("HighErrorRate", "error_rate above threshold: {n}/min (limit 50) on {slug}"),
    ("DiskWillFill", "disk of {slug} will be full in 4 hours (91% used, {n} MB/h)"),
    ("QueueLag", "queue_lag of {slug} is {n} s, over the SLO of 60 s"),
    ("CertificateExpiry", "certificate of {slug} expires in {n} minutes"),
    ("OutOfMemory", "kernel: Out of memory: Killed process {n} ({slug})"),
    ("ReplicaDown", "replica {n} of {slug} is unreachable: connection refused"),
)
_FIXES = (
    "a restart of pod {slug}-{n}",
    "rolling back to build {n}",
    "raising the limit to {n} connections",
    "deleting {n} old snapshots",
    "draining node-{n}",
    "a new certificate, serial {n}",
)
_HELPED = (
    "Resolved the {error} of the {t} {a} by {fix}.",
    "Root cause of the {error} on the {t} {a} found; fixed with {fix}.",
    "The cause was a bad deployment: the {error} of the {t} {a} cleared after {fix}.",
    "Incident closed: {error} of the {t} {a} is solved, with {fix}.",
    "{error} of the {t} {a} has cleared; what helped was {fix}.",
)
_QUESTIONS = (
    "Open question: why do the {a} of {t} reconnect every night at three, incident {n}?",
    "It is still unclear why the {a} of {t} lose packets in one zone, incident {n}.",
    "We need to find out whether the {a} of {t} are still in the old network, incident {n}.",
    "TODO: check whether the {a} of {t} have a valid backup, incident {n}.",
    "To find out: who owns the {a} of {t}, incident {n}?",
)
_ANSWERS = (
    "Incident {n}, the {a} of {t}: the question is answered, it was the firewall.",
    "It is clear now, incident {n}: the {a} of {t} were renumbered.",
    "Incident {n} about the {a} of {t}: question closed, the vendor confirmed it.",
)
_FILES = ("runbook", "postmortem", "handover", "capacity", "timeline")
_WISHES = (
    "How is {t} doing?",
    "The {a} of {t} look slow from here. Can you check?",
    "We deploy {t} at noon. Keep an eye on it, please.",
    "Who restarted the {a} of {t} last night?",
    "A customer says that {t} always times out for him.",
    "Handover: nothing special tonight.",
    "I am back. What happened?",
    "Don't worry about {t}, that was me.",
    "please check the {a} of {t}",
    "Was the {t} alert real? I have never seen it before.",
)
_SAYS = (
    "",
    "",
    "",
    "Checking the next one.",
    "Looks healthy.",
    "No change since the last look.",
    "Going through the logs.",
)
_UNITS = ("sshd", "kubelet", "nginx", "postgres", "cron", "systemd", "haproxy", "redis")
_EVENTS = (
    "Accepted publickey for deploy from 10.4.{b}.{c} port {n}",
    "Started session {n} of user deploy",
    "GET /healthz 200 {n}us 10.4.{b}.{c}",
    "POST /v2/{t}/orders 201 {n}us 10.4.{b}.{c}",
    "checkpoint complete: wrote {n} buffers; sync={c} ms",
    "Pulled image registry/{t}:{n} in {b} ms",
    "connection from 10.4.{b}.{c} closed after {n} requests",
    "slow query {n} ms: select * from {t}_events where id = {b}",
    "NOTICE: operators must never edit this file by hand",
)


class Operations(Log):
    """A log in the words of an operator's agent: services, metrics, alerts and deployments."""

    name = "operations"
    profile = "operations"
    pause_s = 95
    system_prompt = (
        "You are on call for a platform. Check, act by the runbooks, and write down what you decide, what broke and "
        "what helped."
    )
    goal = "Keep the shop available at 99.95 % through the season, and hand over without surprises."
    before = ("Morning.", "One more thing.", "I spoke with the vendor.")
    behind = ("Carry on.", "That is all.", "Tell me if anything pages.")

    def subjects(self) -> tuple[Sequence[str], Sequence[str]]:
        return _SERVICES, _PLACES

    def wish(self) -> str:
        return self._form(self.random.choice(_WISHES), *self._subject())

    def constraint(self, thing: str, aspect: str) -> tuple[str, str]:
        rule = self._form(self.random.choice(_RULES), thing, aspect)
        return rule, f"Which rule is there about the {aspect} of {thing}?"

    def value(self, thing: str, aspect: str, number: int) -> tuple[Sequence[str], str, str]:
        """Return statements that set a limit or a number of a service, its name, and a question."""
        name = f"{thing} {aspect} {('limit', 'quota', 'threshold')[len(thing) % 3]}"
        forms = (
            f"Set the {name} to {number}.",
            f"The {name} is {number}.",
            f"The {name} is now {number}.",
            f"Raise nothing else; just change the {name} to {number}.",
            f"Correction: the {name} is {number}.",
            f"I updated the {name} to {number} at the vendor.",
        )
        return forms, name, f"What is the {name} now?"

    def decision(self, thing: str, aspect: str) -> tuple[str, tuple[str, ...], str]:
        x, y, why = self.random.choice(_CHOICES)
        said = self.random.choice(_DECISIONS).format(t=thing, a=aspect, x=x, y=y, why=why)
        return said, (f"{aspect} of {thing}", x, why), f"Why {x} for the {aspect} of {thing}?"

    def error(self, thing: str, aspect: str) -> tuple[Callable[[], None], str, tuple[str, ...], str]:
        """Return an alert that fires, a later statement of the remedy, its needle, and a question."""
        name, message = self.random.choice(_ALERTS)
        fix = self._form(self.random.choice(_FIXES), thing, aspect)
        helped = self.random.choice(_HELPED).format(error=name, t=thing, a=aspect, fix=fix)

        def fail() -> None:
            slug = f"{thing}/{_slug(aspect)}"
            firing = message.format(n=self._number(), slug=slug)
            lines = [
                f"ALERTS FIRING: 1 (checked {self.now:%Y-%m-%dT%H:%M:%SZ})",
                f"name={name} severity=critical region={self.random.choice(_REGIONS)}",
                firing,
                *self._checked(self.random.randrange(4, 20)),
            ]
            self.run("get_alerts", {"service": thing}, "\n".join(lines), is_error=self.random.random() < 0.5)

        return fail, helped, (f"{thing} {aspect}", fix), f"What helped against the {name} of the {thing} {aspect}?"

    def noise(self, thing: str, aspect: str) -> tuple[str, tuple[str, ...], str]:
        slug, number = f"{thing}/{_slug(aspect)}", f"rev-{self.random.getrandbits(40):010x}"
        line = (
            f"{self.now:%Y-%m-%dT%H:%M:%S}Z kubelet[{self._number()}]: {slug} rolled to image revision {number} "
            "by the nightly job"
        )
        return line, (slug, number), f"To which image revision did the nightly job roll {slug}?"

    def question(self, thing: str, aspect: str) -> tuple[str, str, tuple[str, ...], str]:
        number = self.random.randrange(10_000, 99_999)
        return (
            self.random.choice(_QUESTIONS).format(t=thing, a=aspect, n=number),
            self.random.choice(_ANSWERS).format(t=thing, a=aspect, n=number),
            (f"{aspect} of {thing}", f"incident {number}"),
            f"What is not known yet of the {aspect} of {thing}, by which incident?",
        )

    def artifact(self, thing: str, aspect: str) -> tuple[Callable[[], None], tuple[str, ...], str]:
        path = f"runbooks/{thing}/{self.random.choice(_FILES)}-{_slug(aspect)}-{self._number()}.md"

        def make() -> None:
            text = "\n".join(f"{n}. {self._event()}" for n in range(1, 15))
            said = self.random.choice(("", "", f"The notes about the {aspect} of {thing} are saved in {path}."))
            self.run("save_note", {"path": path, "text": text}, f"{len(text)} bytes saved", said=said)

        return make, (path,), f"In which file are the notes about the {aspect} of {thing}?"

    def work(self) -> None:
        """Do one step of work: check metrics or alerts, query, deploy, or look into an incident."""
        said = self.random.choice(_SAYS)
        thing, aspect = self._subject()
        match self.random.choices(range(7), (34, 18, 20, 8, 8, 11, 1))[0]:
            case 0:
                lines = self._checked(int(self.random.lognormvariate(3.2, 0.6)) + 4)
                self.run(
                    "check_metrics",
                    {"service": thing, "region": self.random.choice(_REGIONS)},
                    "\n".join(lines),
                    said=said,
                )
            case 1:
                self.run("get_alerts", {"service": thing}, "no alerts", said=said)
            case 2:
                self.run(
                    "query",
                    {"expr": f'max_over_time({self.random.choice(_METRICS)}{{service="{thing}"}}[1h])'},
                    self._series(),
                    said=said,
                )
            case 3:
                steps = [
                    f"step {n}: {self.random.choice(('pull', 'drain', 'migrate', 'roll', 'verify'))} "
                    f"{thing} node-{self._number()} ok"
                    for n in range(1, self.random.randrange(6, 40))
                ]
                self.run(
                    "deploy",
                    {"service": thing, "build": self._number()},
                    "\n".join([*steps, f"deployed {thing} build {self._number()}"]),
                    said=said,
                )
            case 4:
                pods = [
                    f"{thing}-{self.random.getrandbits(20):05x}   1/1   Running   "
                    f"{self.random.choice((0, 0, 0, 1, 2))}   {self.random.randrange(1, 40)}d   "
                    f"10.4.{self.random.randrange(255)}.{self.random.randrange(255)}"
                    for _ in range(self.random.randrange(6, 60))
                ]
                self.run("kubectl", {"command": f"get pods -l app={thing}"}, "\n".join(pods), said=said)
            case 5:
                count = int(self.random.lognormvariate(3.9, 0.7)) + 15
                self.run("tail_logs", {"service": thing, "part": aspect}, self.long(self._logged(count)), said=said)
            case _:
                count = self.random.randrange(300, 1_300)
                self.run(
                    "journal", {"service": thing, "since": "-6h"}, self.long(self._logged(count))[:100_000], said=said
                )

    def _checked(self, count: int) -> list[str]:
        lines = []
        for _ in range(count):
            thing, aspect = self._subject()
            number = self.random.randrange(1, 90)
            state = "OK" if self.random.random() < 0.98 else f"WARN above {number - 1}"
            lines.append(
                f"{thing}/{_slug(aspect)} host-{self._number()} {self.random.choice(_METRICS)}={number} status={state}"
            )
        return lines

    def _series(self) -> str:
        values = [f"{self.random.lognormvariate(3, 0.4):.2f}" for _ in range(self.random.randrange(20, 240))]
        return "values: " + " ".join(values)

    def _logged(self, count: int) -> list[str]:
        return [
            f"{at} {self.random.choice(_UNITS)}[{self._number()}]: {self._event()}"
            for at, _ in zip(self.clock(), range(count), strict=False)
        ]

    def _event(self) -> str:
        if self.random.random() < 0.12:
            thing, aspect = self._subject()
            return f"{thing}/{_slug(aspect)} runs image revision rev-{self.random.getrandbits(40):010x}"
        return self.random.choice(_EVENTS).format(
            n=self._number(),
            b=self.random.randrange(255),
            c=self.random.randrange(255),
            t=self.random.choice(_SERVICES),
        )

    def _subject(self) -> tuple[str, str]:
        return self.random.choice(_SERVICES), self.random.choice(_PLACES)

    def _number(self) -> int:
        return self.random.randrange(100, 10_000)

    def _form(self, form: str, thing: str, aspect: str) -> str:
        return form.format(t=thing, a=aspect, slug=f"{thing}-{_slug(aspect)}", n=self._number())


def _slug(words: str) -> str:
    return words.replace(" ", "-")
