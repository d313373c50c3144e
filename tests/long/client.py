"""A payment by the client that openapi-python-client generates, read back."""
import importlib
import os
import pathlib
import sys

# The generated package has the folder's name, which is no name of Python's.
folder = pathlib.Path(os.environ["PYTHONPATH"]) / "python-client"
sys.path.insert(0, str(folder.parent))
link = folder.parent / "tillbell_client"
if not link.exists():
    link.symlink_to(folder)

from tillbell_client import AuthenticatedClient  # noqa: E402
from tillbell_client.models import NewPayment  # noqa: E402

create = importlib.import_module("tillbell_client.api.payments.create_payment")
read = importlib.import_module("tillbell_client.api.payments.read_payment")
client = AuthenticatedClient(
    base_url=os.environ["TILLBELL_URL"], token=os.environ["TILLBELL_KEY"], prefix="", auth_header_name="X-API-Key"
)
wanted = NewPayment(
    amount="12500.00", payer_name="Adaeze Blessing Nwosu", webhook_url="http://localhost:4000/hook"
)
made = create.sync(client=client, body=wanted)
payment = read.sync(made.data.transaction_id, client=client)
assert payment.data.status == "pending" and payment.data.amount == 12500, payment
wrong = create.sync(client=client, body=NewPayment(amount="0", payer_name="Ada Obi", webhook_url="http://localhost:4000/hook"))
assert wrong.code == "invalid_fields", wrong
print(f"Python: {payment.data.transaction_id} is {payment.data.status}")
