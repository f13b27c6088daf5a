#!/usr/bin/env node
/**
 * `tablewright COMMAND`: the command line. This file reads the arguments and decides the exit code. The module of a command is
 * imported only when the command runs, so that `--help` starts fast.
 */
import process from 'node:process';
import { parseArgs } from 'node:util';
import { type Command, type CommandLine, commands } from './commands.ts';
import { exitCodeOfSignal, handleEndSignals, Interrupted } from './end-signals.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';
import { commandHelp, generalHelp } from './help.ts';
import { nearest } from './nearest.ts';

type CommandName = keyof typeof commands;

/** Runs a command and returns its exit code. Undefined: the command keeps running and ends the process itself. */
const runs: Record<CommandName, (line: CommandLine) => Promise<number | undefined>> = {
  load: async (line) => (await import('./load.ts')).load(line),
  inspect: async (line) => (await import('./inspect.ts')).inspect(line),
  create: async (line) => (await import('./tables.ts')).create(line),
  describe: async (line) => (await import('./tables.ts')).describe(line),
  alter: async (line) => (await import('./alter.ts')).alter(line),
  drop: async (line) => (await import('./tables.ts')).drop(line),
  rename: async (line) => (await import('./tables.ts')).rename(line),
  tables: async (line) => (await import('./tables.ts')).list(line),
  rows: async (line) => (await import('./tables.ts')).rows(line),
  export: async (line) => (await import('./export.ts')).exportTable(line),
  loads: async (line) => (await import('./loads.ts')).loads(line),
  changes: async (line) => (await import('./changes.ts')).changes(line),
  profiles: async (line) => (await import('./profiles.ts')).profiles(line),
  cancel: async (line) => (await import('./loads.ts')).cancel(line),
  mcp: async (line) => (await import('./mcp/mcp.ts')).mcp(line),
  serve: async (line) => (await import('./serve.ts')).serve(line),
  token: async (line) => (await import('./token.ts')).token(line),
  completion: async (line) => (await import('./completion.ts')).completion(line),
};

const [name, ...parameters] = process.argv.slice(2);

let outputError: Error | undefined;
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') outputError ??= error;
    // The output is closed, for example because `head` has read enough. A listing ends then, but `load` still loads all its files.
    else if (name !== 'load') process.exit(exitCodes.done);
  });
}

const exitCode = await run(name, parameters);
// The output must be written before the process ends.
if (exitCode !== undefined) {
  // If writing fails, the stream emits its error after the callback, so the process ends one step later.
  process.stdout.write('', () => process.stderr.write('', () => setImmediate(end, exitCode)));
}

function end(result: number): void {
  const exitCode = exitCodeOfSignal() ?? result;
  if (outputError === undefined) {
    endWith(exitCode);
    return;
  }
  process.stderr.write(`error: The output cannot be written: ${outputError.message}\n`, () =>
    endWith(exitCode === exitCodes.done ? exitCodes.refused : exitCode),
  );
}

/** How long the process may wait for its own end. */
const patienceMs = 100;

/**
 * Lets the process end by itself, because `process.exit` can wait for ever: it joins V8's threads, and a thread that compiles may wait for a
 * garbage collection by this thread. If the standard input or a timer of the embedded service is still open, it ends the process.
 */
function endWith(exitCode: number): void {
  process.exitCode = exitCode;
  setTimeout(() => process.exit(exitCode), patienceMs).unref();
}

async function run(name: string | undefined, parameters: string[]): Promise<number | undefined> {
  if (name === '--version' || name === '-V') return printVersion();
  if (name === undefined) {
    process.stderr.write(generalHelp());
    return exitCodes.wrongUse;
  }
  if (name === '--help' || name === '-h' || name === 'help') return printHelp(parameters[0]);
  if (!isCommand(name)) {
    const meant = nearest(name, Object.keys(commands));
    const hint = meant === undefined ? '' : ` Did you mean "${meant}"?`;
    return wrongUse(`There is no command "${name}".${hint} "tablewright --help" lists the commands.`);
  }
  const command: Command = commands[name];
  try {
    const line = parse(command, parameters);
    if (line.options.help) return printHelp(name);
    handleEndSignals();
    return await runs[name](line);
  } catch (error) {
    if (error instanceof Interrupted) return exitCodes.interrupted;
    if (error instanceof WrongUse) return wrongUse(`${error.message}\nUsage: tablewright ${command.usage}`);
    if ((error as NodeJS.ErrnoException).code === 'ERR_MODULE_NOT_FOUND') {
      return wrongUse(
        `The installation is not complete: ${(error as Error).message.split(' imported from')[0]}. Run "npm ci" in the clone, or install the package again.`,
      );
    }
    const { reportError, exitCodeOf, errorDocument } = await import('./report-error.ts');
    if (!parameters.includes('--json')) return reportError(error);
    const { sayJson } = await import('./print.ts');
    sayJson({ error: errorDocument(error) });
    return exitCodeOf(error);
  }
}

function isCommand(name: string): name is CommandName {
  return Object.hasOwn(commands, name);
}

/** @throws WrongUse */
function parse(command: Command, parameters: string[]) {
  const line = parseOptions(command, parameters);
  for (const [name, { choices }] of Object.entries(command.options)) {
    const value = line.options[name];
    if (choices && typeof value === 'string' && !choices.includes(value))
      throw new WrongUse(`--${name} is ${choices.join(' or ')}, not "${value}".`);
  }
  return line;
}

function parseOptions({ options }: Command, parameters: string[]) {
  const types = Object.entries(options).map(([name, { value }]) => {
    return [name, { type: value === undefined ? 'boolean' : 'string' }] as const;
  });
  try {
    const { values, positionals } = parseArgs({
      // Option names may also be written with underscores, as the parameters in a URL: `--if_exists`.
      args: parameters.map((one) => one.replace(/^--[a-z_-]+/, (option) => option.replaceAll('_', '-'))),
      options: { ...Object.fromEntries(types), help: { type: 'boolean', short: 'h' } },
      allowPositionals: true,
    });
    return { positionals, options: values as Record<string, string | boolean | undefined> };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [, option] = /^Unknown option '(-[^']*)'/.exec(message) ?? [];
    if (code !== 'ERR_PARSE_ARGS_UNKNOWN_OPTION' || option === undefined) throw new WrongUse(message);
    throw new WrongUse(`There is no option ${option}.${unknownHint(option, Object.keys(options))}`);
  }
}

function unknownHint(option: string, names: string[]): string {
  // There is no option for a secret, because every user of the machine could read it.
  if (option === '--token') return ' Set TABLEWRIGHT_TOKEN.';
  if (option === '--password') return ' Set TABLEWRIGHT_FILE_PASSWORD, or use --password-file.';
  const meant = nearest(option.replace(/^-+/, ''), names);
  return meant === undefined ? '' : ` Did you mean --${meant}?`;
}

function printHelp(name: string | undefined): number {
  process.stdout.write(name !== undefined && isCommand(name) ? commandHelp(commands[name]) : generalHelp());
  return exitCodes.done;
}

async function printVersion(): Promise<number> {
  const { version } = await import('./program.ts');
  process.stdout.write(`${version}\n`);
  return exitCodes.done;
}

async function wrongUse(message: string): Promise<number> {
  const { note } = await import('./print.ts');
  for (const line of message.split('\n')) note(line);
  return exitCodes.wrongUse;
}
