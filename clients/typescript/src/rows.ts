/** Lists that follow their pages by themselves. */

/**
 * The rows of a list, read on demand.
 *
 * `for await (const row of rows)` reads page by page, and leaving early reads no more. `await rows` gives all of them in an
 * array. Each reads from the beginning.
 */
export class Rows<T> implements AsyncIterable<T>, PromiseLike<T[]> {
  constructor(private readonly open: () => AsyncIterator<T>) {}

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return this.open();
  }

  then<A = T[], B = never>(
    fulfilled?: ((rows: T[]) => A | PromiseLike<A>) | null,
    rejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.all().then(fulfilled, rejected);
  }

  private async all(): Promise<T[]> {
    const rows: T[] = [];
    for await (const row of this) rows.push(row);
    return rows;
  }
}

/** Yield the rows of all pages. */
export async function* pages<T>(page: (token: string) => Promise<[rows: T[], nextToken: string]>): AsyncGenerator<T> {
  let token = "";
  do {
    const [rows, nextToken] = await page(token);
    yield* rows;
    token = nextToken;
  } while (token);
}
