"""What schemathesis cannot guess: on which website this business may have webhooks, and which number has a wallet."""
import schemathesis

KNOWN = {"webhook_url": "http://localhost:4000/hook", "phone": "08031234567", "payer_name": "Adaeze Blessing Nwosu"}


@schemathesis.hook
def map_body(context, body):
    """Of most bodies a payment can be made, so that there is something to read, correct and list."""
    if not isinstance(body, dict):
        return body
    known = {name: value for name, value in KNOWN.items() if isinstance(body.get(name), str)}
    kept = {name: value for name, value in body.items() if name not in ("business_website_id", "website_url", "name", "lname")}
    return {**kept, **known} if known else body
