"""Refusals of the API."""


class ApiError(Exception):
    """A refusal: HTTP status, Kubernetes' reason, message."""

    def __init__(self, code, reason, message):
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message

    def status(self):
        said = {"status": "Failure", "message": self.message, "reason": self.reason}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, **said, "code": self.code}


def not_found(kind, name):
    return ApiError(404, "NotFound", f'{kind.plural} "{name}" not found')
