/** `tablewright token`: prints only an access token for development, so that a shell can assign it to a variable. */
import type { CommandLine } from './commands.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';
import { loadServer, type Server } from './load-server.ts';

export async function token({ positionals, options }: CommandLine): Promise<number> {
  if (positionals.length > 0) throw new WrongUse(`"${positionals[0]}" is not an option.`);
  const server = await loadServer();
  let tokenOptions: ReturnType<Server['readTokenOptions']>;
  try {
    tokenOptions = server.readTokenOptions(options as Parameters<Server['readTokenOptions']>[0]);
  } catch (error) {
    throw new WrongUse((error as Error).message);
  }
  try {
    await server.printToken(tokenOptions);
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    if (path === undefined) throw error;
    throw new WrongUse(`The secret cannot be kept at ${path} (${code}). Set DATA_DIR or TOKEN_SECRET.`);
  }
  return exitCodes.done;
}
