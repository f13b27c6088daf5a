/** The interface through which the service counts and measures. It does not depend on a metrics library. */
import type { LoadPhase } from '../../../engine/loading/request/load-request.ts';

/** A request that was answered, or whose client disconnected. */
export interface AnsweredRequest {
  method: string;
  /** The pattern of the route, such as `/api/v1/table/:table_name`; undefined: the path has no route. */
  route: string | undefined;
  /** undefined: the client disconnected before the answer. */
  status: number | undefined;
  seconds: number;
}

/** Receives counts and durations. Every text is from a fixed list and never from a request, because each different text is a separate series. */
export interface Measures {
  answered(request: AnsweredRequest): void;
  /** A refused request, or one that failed. @param code the code of the error */
  refused(code: string): void;
  /** Problems in the rows, the definition or the parameters of a refused request. */
  problems(code: string, count: number): void;
  tokenRefused(reason: string): void;
  /** A committed load. @param bytes the received bytes of the body */
  loaded(format: string, rows: number, bytes: number): void;
  /** A file with rows of a table was sent. */
  exported(format: string, rows: number, bytes: number): void;
  /** An asynchronous load was given up, because it was started too often without reaching an end. */
  loadGivenUp(): void;
  phase(phase: LoadPhase, seconds: number): void;
}

/** Measures nothing. */
export const noMeasures: Measures = {
  answered: () => {},
  refused: () => {},
  problems: () => {},
  tokenRefused: () => {},
  loaded: () => {},
  exported: () => {},
  loadGivenUp: () => {},
  phase: () => {},
};
