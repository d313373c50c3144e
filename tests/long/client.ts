// A payment by the client that openapi-typescript types: it compiles under `strict`, and reads the payment back.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

declare const process: { env: Record<string, string | undefined> };

const client = createClient<paths>({
  baseUrl: process.env.TILLBELL_URL,
  headers: { "X-API-Key": process.env.TILLBELL_KEY },
});
const wanted: components["schemas"]["NewPayment"] = {
  amount: "12500.00",
  payer_name: "Adaeze Blessing Nwosu",
  webhook_url: "http://localhost:4000/hook",
};
const { data, error } = await client.POST("/api/v1/payment-request", { body: wanted });
if (!data) throw new Error(error?.message);
const id: string = data.data.transaction_id;
const read = await client.GET("/api/v1/payment/{transaction_id}", { params: { path: { transaction_id: id } } });
const status: "pending" | "approved" | "rejected" | undefined = read.data?.data.status;
if (status !== "pending" || read.data?.data.amount !== 12500) throw new Error(JSON.stringify(read));
const wrong = await client.POST("/api/v1/payment-request", { body: { ...wanted, amount: "0" } });
if (wrong.error?.code !== "invalid_fields") throw new Error(JSON.stringify(wrong.error));
console.log(`TypeScript: ${id} is ${status}`);
