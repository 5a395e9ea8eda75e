"""What a learning is about, in words it does not have itself: people ask by them.

"We chose FastAPI" is asked for as "the web framework we use". A vector would know; so do
a few lists.
"""

from __future__ import annotations

import re

_OF_KINDS = {
    "decision": "decision decide decided choose chose use",
    "preference": "preference prefer like want",
    "pattern": "pattern practice works way",
    "failure": "failure failed fail problem error avoid mistake wrong",
    "question": "question open todo pending",
}
_OF_NAMES = {
    "web framework": "flask fastapi django express rails spring laravel starlette tornado nestjs "
    "aiohttp sanic",
    "database": "postgresql postgres mysql mariadb sqlite mongodb oracle dynamodb cassandra redis "
    "cockroachdb",
    "frontend framework": "react vue angular svelte preact",
    "cloud hosting provider": "aws azure gcp heroku hetzner",
    "package manager": "npm yarn pnpm bun pip poetry uv pdm pipenv conda",
    "indentation formatting": "tabs spaces",
    "api style": "rest graphql grpc soap",
    "message queue broker": "kafka rabbitmq nats sqs",
    "containers": "docker podman kubernetes",
    "continuous integration": "jenkins circleci travis",
    "test framework": "pytest unittest nose mocha jest vitest",
    "machine learning framework": "pytorch tensorflow jax keras",
    "version control": "git mercurial svn",
    "task queue": "celery rq dramatiq",
    "programming language": "python typescript javascript java kotlin rust ruby php c# c++ scala",
}
_TOPIC = {name: topic for topic, names in _OF_NAMES.items() for name in names.split()}
_WORD = re.compile(r"[\w+#]+")


def topics(kind: str, content: str) -> str:
    """Words that a learning may be asked for by."""
    names = dict.fromkeys(_WORD.findall(content.lower()))
    found = dict.fromkeys(_TOPIC[name] for name in names if name in _TOPIC)
    return " ".join((_OF_KINDS.get(kind, ""), *found))
