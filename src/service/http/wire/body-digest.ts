import { createHash, type Hash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';

/**
 * Computes the digest of a body while it is read. For a form it is the digest of its parts, because clients choose another boundary
 * for each request.
 */
export class BodyDigest {
  readonly #target: string;
  readonly #whole = createHash('sha256');
  readonly #parts = new Map<string, Hash>();
  #isComplete = false;
  #file: Buffer | undefined;

  /**
   * @param request undefined: the digest of the request is not needed
   * @param also what belongs to the request besides its URL and body; default: nothing
   */
  constructor(request?: FastifyRequest, also = '') {
    this.#target = `${request?.method} ${request?.url}${also}`;
  }

  /** Passes on the chunks of a body and adds them to the digest. */
  async *through(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#whole.update(chunk);
      yield chunk;
    }
    this.#file = this.#whole.copy().digest();
    this.#isComplete = true;
  }

  /** Adds a whole body. */
  addWhole(body: Buffer): void {
    this.#whole.update(body);
    this.#isComplete = true;
  }

  /** Adds bytes of a part of a form. */
  addToPart(name: string, bytes: Buffer): void {
    const part = this.#parts.get(name) ?? createHash('sha256');
    this.#parts.set(name, part.update(bytes));
  }

  /**
   * Call this when all parts of a form have been read. If the form has a link (`source`), the file is not part of the digest: a repeated
   * request must not fetch it again, and the link may have expired or may lead to a newer file.
   */
  endOfParts(): void {
    for (const name of [...this.#parts.keys()].sort()) {
      const digest = this.#parts.get(name)!.digest();
      if (name === 'file') this.#file = digest;
      if (name === 'file' && this.#parts.has('source')) continue;
      this.#whole.update(`${name}\0`).update(digest);
    }
    this.#isComplete = true;
  }

  /** Returns the digest of the part `file` of a form, or of a whole body; undefined: it has not arrived. */
  file(): Buffer | undefined {
    return this.#file;
  }

  /** Returns the digest of the request; undefined: the body was not read to its end. */
  fingerprint(): Buffer | undefined {
    if (!this.#isComplete) return undefined;
    return this.#whole.copy().update(`\0${this.#target}`).digest();
  }
}
