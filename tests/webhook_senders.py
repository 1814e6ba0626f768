"""Senders of webhooks, as their public documents say they sign: a delivery's headers, made from scratch."""

import base64
import hashlib
import hmac
from dataclasses import dataclass

SECRET = "a-secret-both-sides-know"


def mac(key: bytes, signed: bytes) -> "hmac.HMAC":
    return hmac.new(key, signed, hashlib.sha256)


@dataclass(frozen=True, slots=True)
class Sender:
    """Signs with `secret` at the time `now_s`."""

    now_s: float
    secret: str = SECRET

    def standard(self, body: bytes, delivery: str, key: bytes | None = None) -> dict[str, str]:
        """https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md"""
        at = str(int(self.now_s))
        signed = b".".join([delivery.encode(), at.encode(), body])
        digest = base64.b64encode(mac(key or self.secret.encode(), signed).digest()).decode()
        return {"webhook-id": delivery, "webhook-timestamp": at, "webhook-signature": f"v1,{digest}"}

    def github(self, body: bytes, delivery: str, event: str = "push") -> dict[str, str]:
        """https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries"""
        return {
            "X-GitHub-Event": event,
            "X-GitHub-Delivery": delivery,
            "X-Hub-Signature-256": f"sha256={mac(self.secret.encode(), body).hexdigest()}",
        }

    def gitlab(self, body: bytes, delivery: str, event: str = "Push Hook") -> dict[str, str]:
        """https://docs.gitlab.com/user/project/integrations/webhooks/"""
        del body
        return {"X-Gitlab-Event": event, "Idempotency-Key": delivery, "X-Gitlab-Token": self.secret}

    def stripe(self, body: bytes, delivery: str = "") -> dict[str, str]:
        """https://docs.stripe.com/webhooks#verify-manually"""
        del delivery  # the event's id is in its body
        at = int(self.now_s)
        signature = mac(self.secret.encode(), f"{at}.".encode() + body).hexdigest()
        return {"Stripe-Signature": f"t={at},v0=6ffbb59b2300aae63f272406069a9788,v1={signature}"}
