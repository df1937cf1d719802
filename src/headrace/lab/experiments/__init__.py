"""The papers' figures and claims, one module a paper, each offering `PAPER`; imported when used."""

PAPERS: dict[str, str] = {
    "000": "headrace.lab.experiments.paper000",
    "002": "headrace.lab.experiments.paper002",
    "004": "headrace.lab.experiments.paper004",
}
