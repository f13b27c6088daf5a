/** The part of a pino logger that this folder uses, for messages that belong to no request. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}
