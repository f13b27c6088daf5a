/** The part of a pino logger that the files of this folder use. It is not a logger of a request. */
export interface Log {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
}
