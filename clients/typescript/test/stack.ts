/** The services that the tests talk to: `tests/clients/test_typescript.py` starts them and runs these tests. */

import { ContextClient, EntityClient, type ContextClientOptions } from "contextkeep";

export const CONTEXT_ADDRESS = required("CONTEXT_SERVICE_ADDRESS");
export const ENTITY_ADDRESS = required("ENTITY_SERVICE_ADDRESS");
export const KEY = required("CONTEXT_SERVICE_API_KEY");
/** Of another tenant. */
export const OTHER_KEY = required("OTHER_API_KEY");

export const MIB = 1024 * 1024;

export const entities = new EntityClient();
export const context = new ContextClient();

/** A client at an address of its own, closed when the block ends. */
export async function withContext<T>(
  options: ContextClientOptions,
  block: (client: ContextClient) => Promise<T>,
): Promise<T> {
  const client = new ContextClient(options);
  try {
    return await block(client);
  } finally {
    client.close();
  }
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run these tests with pytest tests/clients/test_typescript.py`);
  return value;
}
