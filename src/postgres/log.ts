/** The part of a pino logger that this floor uses; it never sees a request. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}
