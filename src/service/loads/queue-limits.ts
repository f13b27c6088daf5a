/**
 * Limits the number of asynchronous loads that have not ended and the bytes of their stored bodies, for the whole service and for each
 * subject of an access token. Without these limits one client could fill the disk.
 */

import { AppError } from '../../core/errors.ts';
import { limitDetail } from '../../core/limit-exceeded.ts';
import type { SettingName } from '../../core/settings/config.ts';
import type { ServiceSchema } from '../../postgres/service-schema.ts';
import type { Statement } from '../../postgres/sql.ts';
import { type QueuedSize, readQueueSize } from './queue-statements.ts';

/** The limits. The settings have the same names. */
export interface QueueLimitValues {
  maxQueuedLoads: number;
  maxQueuedLoadsPerSubject: number;
  maxQueuedBytes: number;
  maxQueuedBytesPerSubject: number;
}

/** A body that is arriving, or is stored but not in the queue yet. */
interface Arriving {
  owner: Buffer;
  bytes: number;
}

type Ask = (statement: Statement) => Promise<Record<string, unknown>[]>;

export class QueueLimits {
  readonly #schema: ServiceSchema;
  readonly #limits: QueueLimitValues;
  readonly #ask: Ask;
  /** The bodies that arrive at this process. */
  readonly #arriving = new Set<Arriving>();

  constructor(schema: ServiceSchema, limits: QueueLimitValues, ask: Ask) {
    this.#schema = schema;
    this.#limits = limits;
    this.#ask = ask;
  }

  /**
   * Reserves a place for a body before it arrives. The caller must call `release` when the load is in the queue or was refused.
   *
   * @param bytes the stated length of the body; 0: it is not known
   * @throws AppError `queue-full`
   */
  async enter(spool: string, owner: Buffer, bytes: number): Promise<QueuePlace> {
    const place = { owner, bytes };
    this.#arriving.add(place);
    let stored: QueuedSize;
    const check = async (): Promise<void> => {
      const [row] = await this.#ask(readQueueSize(this.#schema, spool, owner));
      stored = row as unknown as QueuedSize;
      this.#check(owner, stored);
    };
    const release = (): void => void this.#arriving.delete(place);
    try {
      await check();
    } catch (error) {
      release();
      throw error;
    }
    return {
      arrived: (received) => {
        if (received <= place.bytes) return;
        place.bytes = received;
        this.#check(owner, stored);
      },
      check,
      release,
    };
  }

  #check(owner: Buffer, stored: QueuedSize): void {
    const all = [...this.#arriving];
    const own = all.filter((one) => one.owner.equals(owner));
    const { maxQueuedLoads, maxQueuedLoadsPerSubject, maxQueuedBytes, maxQueuedBytesPerSubject } =
      this.#limits;
    if (stored.ownLoads + own.length > maxQueuedLoadsPerSubject)
      throw queueFull(
        "The access token's subject has too many",
        maxQueuedLoadsPerSubject,
        'MAX_QUEUED_LOADS_PER_SUBJECT',
      );
    if (stored.ownBytes + bytesOf(own) > maxQueuedBytesPerSubject)
      throw queueFull(
        "The access token's subject has too many bytes of",
        maxQueuedBytesPerSubject,
        'MAX_QUEUED_BYTES_PER_SUBJECT',
      );
    if (stored.loads + all.length > maxQueuedLoads)
      throw queueFull('The service has too many', maxQueuedLoads, 'MAX_QUEUED_LOADS');
    if (stored.bytes + bytesOf(all) > maxQueuedBytes)
      throw queueFull('The service has too many bytes of', maxQueuedBytes, 'MAX_QUEUED_BYTES');
  }
}

export interface QueuePlace {
  /** Call this when more bytes have arrived. It checks the limits. @throws AppError `queue-full` */
  arrived(bytes: number): void;
  /** Reads how much other requests have stored meanwhile, and checks the limits again. @throws AppError `queue-full`; PostgreSQL's errors */
  check(): Promise<void>;
  release(): void;
}

function bytesOf(bodies: Arriving[]): number {
  return bodies.reduce((sum, { bytes }) => sum + bytes, 0);
}

function queueFull(what: string, limit: number, setting: SettingName): AppError {
  const detail = limitDetail(`${what} asynchronous uploads that wait or run`, limit, { setting });
  return new AppError('queue-full', `${detail} Try again when some have ended.`, {
    headers: { 'retry-after': '30' },
  });
}
