/** The exit codes of the command line. docs/command-line.md lists them. */
export const exitCodes = {
  /** Everything was done. */
  done: 0,
  /** The service refused the request, or the load failed. Nothing was changed. */
  refused: 1,
  /** The command is wrong: an unknown option, or a file that does not exist. Nothing was sent. */
  wrongUse: 2,
  /** The service does not answer, or cannot answer now. */
  unreachable: 3,
  /** Ctrl-C, as in shells. The exit codes for other signals are in end-signals.ts. */
  interrupted: 130,
} as const;

/** The command line is wrong. The message says what the user has to change. */
export class WrongUse extends Error {
  override readonly name = 'WrongUse';
}
