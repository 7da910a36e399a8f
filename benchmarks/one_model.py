"""The yardstick of `launch check`: a program that defines one pydantic model and validates one value."""

from pydantic import BaseModel


class Deployment(BaseModel):
    name: str
    replicas: int


Deployment.model_validate({"name": "quickstart", "replicas": 2})
