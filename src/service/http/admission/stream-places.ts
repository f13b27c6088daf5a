/**
 * Limits how many streams are open, in all and for each caller. If all places are in use, a stream takes the place of the newest stream of
 * the caller with the most streams, if that caller has at least two more. So callers with many streams cannot keep others out.
 */
import { eitherSignal } from '../wire/either-signal.ts';
import type { Refusal } from './waiting-line.ts';

export interface StreamPlacesOptions {
  places: number;
  placesPerCaller: number;
  /** Returns the error for a refused stream. */
  refusal: (reason: Pick<Refusal, 'isOwn'>) => Error;
}

/** The reason with which the signal of a stream is aborted if its place was given to another caller. */
export class StreamDisplaced extends Error {}

interface OpenStream {
  caller: string;
  ending: AbortController;
}

export class StreamPlaces {
  readonly #options: StreamPlacesOptions;
  /** The open streams, the oldest one first. */
  readonly #open = new Set<OpenStream>();

  constructor(options: StreamPlacesOptions) {
    this.#options = options;
  }

  /** Returns the number of open streams. */
  get runningCount(): number {
    return this.#open.size;
  }

  /** Returns 0, because streams never wait. */
  get waitingCount(): number {
    return 0;
  }

  /**
   * Runs `work` in a place.
   *
   * @param work gets a signal that is aborted with the given one, or with `StreamDisplaced`
   * @throws the error of `refusal`; then `work` was not started
   */
  async use<Result>(
    caller: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { places, placesPerCaller, refusal } = this.#options;
    const own = this.#streamsOf(caller).length;
    if (own >= placesPerCaller) throw refusal({ isOwn: true });
    if (this.#open.size >= places && !this.#makeRoom(own)) throw refusal({ isOwn: own > 0 });
    const stream = { caller, ending: new AbortController() };
    this.#open.add(stream);
    const either = eitherSignal(signal, stream.ending.signal);
    try {
      return await work(either.signal);
    } finally {
      either.release();
      this.#open.delete(stream);
    }
  }

  #streamsOf(caller: string): OpenStream[] {
    return [...this.#open].filter((stream) => stream.caller === caller);
  }

  /** Ends the newest stream of the caller with the most streams, if that caller has at least two more than `own`. @returns whether a stream was ended */
  #makeRoom(own: number): boolean {
    const byCaller = Map.groupBy(this.#open, ({ caller }) => caller);
    const most = [...byCaller.values()].reduce((one, other) => (other.length > one.length ? other : one), []);
    if (most.length < own + 2) return false;
    const newest = most.at(-1)!;
    this.#open.delete(newest);
    newest.ending.abort(new StreamDisplaced());
    return true;
  }
}
