/**
 * `tablewright mcp`: the operations of the service as tools for agents (Model Context Protocol), over the standard input and output. The
 * tools call the client, so tokens and scopes mean what they always mean.
 */
import { once } from 'node:events';
import process from 'node:process';
import type { CallToolResult, InputRequiredResult } from '@modelcontextprotocol/server';
import { ConnectionError, ProblemError } from '../../client/client.ts';
import type { CommandLine } from '../commands.ts';
import { withClient } from '../connect.ts';
import { WrongUse } from '../exit-codes.ts';
import { version } from '../program.ts';
import { errorDocument } from '../report-error.ts';
import { describeTools } from './tool-schemas.ts';
import { type Arguments, tools } from './tools.ts';

const instructions =
  'Loads files and rows into PostgreSQL tables, all or nothing. First inspect a file (inspect_file), then check it (check_file), which finds every problem and changes nothing, then load it (load_file). Problems name their cell, and warnings name parameters that may read the file better.';

export async function mcp(line: CommandLine): Promise<number> {
  if (line.positionals.length > 0) throw new WrongUse('This command has no arguments.');
  const { Server, serveStdio, ...sdk } = await loadSdk();
  return withClient(line, async ({ client, readDocument }) => {
    const described = describeTools(await readDocument());
    const handle = serveStdio(() => {
      const server = new Server(
        { name: 'tablewright', version },
        { capabilities: { tools: {} }, instructions },
      );
      const asked = new Set<string>();
      server.setRequestHandler('tools/list', () => ({ tools: described }));
      server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
        const { name, arguments: given = {} } = params;
        const schema = described.find((one) => one.name === name)?.inputSchema.properties;
        if (schema === undefined) return refused({ detail: `There is no tool "${name}".` });
        const wrong = wrongArgument(schema, given);
        if (wrong !== undefined) return refused({ detail: wrong });
        const tool = tools[name]!;
        const danger = tool.danger?.(given);
        const run = () => answerOf(async () => tool.run(client, given, mcpReq.signal));
        if (danger === undefined) return run();
        // An answer counts only once, for the call about which the person was asked.
        const call = JSON.stringify([name, given]);
        const confirmed = sdk.acceptedContent(mcpReq.inputResponses, 'confirm')?.confirm;
        if (asked.delete(call) && mcpReq.inputResponses !== undefined)
          return confirmed === true ? run() : refused({ detail: 'The person did not confirm it.' });
        asked.add(call);
        return confirmation(sdk, danger);
      });
      return server;
    });
    await once(process.stdin, 'close');
    await handle.close();
  });
}

/** Returns what is wrong with the arguments of a call. A list in place of a text would mean something else to a tool than to the service. */
function wrongArgument(schema: object, given: Arguments): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(schema, name)) return `There is no argument "${name}".`;
    const isObject = typeof value === 'object' && value !== null;
    if (isObject !== ['definition', 'change', 'new_definition'].includes(name))
      return `The argument "${name}" must be ${isObject ? 'a text, a number or true or false' : 'an object'}.`;
  }
  return undefined;
}

/** The package is optional, because most users of the command need no agent. @throws WrongUse */
async function loadSdk() {
  try {
    const { Server, acceptedContent, inputRequired } = await import('@modelcontextprotocol/server');
    const { serveStdio } = await import('@modelcontextprotocol/server/stdio');
    return { Server, acceptedContent, inputRequired, serveStdio };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new WrongUse('This command needs another package. Run: npm install @modelcontextprotocol/server@2');
  }
}

type Sdk = Pick<Awaited<ReturnType<typeof loadSdk>>, 'inputRequired'>;

/** Asks the person who uses the agent. */
function confirmation({ inputRequired }: Sdk, message: string): InputRequiredResult {
  const confirm = { type: 'boolean' as const, title: 'Yes, do it', default: false };
  const requestedSchema = { type: 'object' as const, properties: { confirm }, required: ['confirm'] };
  return inputRequired({ inputRequests: { confirm: inputRequired.elicit({ message, requestedSchema }) } });
}

async function answerOf(run: () => Promise<object>): Promise<CallToolResult> {
  try {
    return withinBounds(resultOf(await run()));
  } catch (error) {
    const isKnown =
      error instanceof ProblemError || error instanceof ConnectionError || error instanceof WrongUse;
    if (!isKnown) throw error;
    return refused(error instanceof WrongUse ? { detail: error.message } : errorDocument(error));
  }
}

/** Agents end the connection, with all tools, at an answer of more than 10 MiB. */
const maxAnswerBytes = 8 * 1024 * 1024;

function withinBounds(result: CallToolResult): CallToolResult {
  const bytes = Buffer.byteLength(JSON.stringify(result));
  if (bytes <= maxAnswerBytes) return result;
  const detail = `The call is done, but its answer has ${bytes} bytes, and an agent takes at most ${maxAnswerBytes}. Ask for less, for example with a smaller limit.`;
  return refused({ detail });
}

function refused(problem: object): CallToolResult {
  return { ...resultOf(problem), isError: true };
}

/** Agents that do not know structured content read the text. */
function resultOf(answer: object): CallToolResult {
  return {
    content: [{ type: 'text', text: JSON.stringify(answer) }],
    structuredContent: answer as Record<string, unknown>,
  };
}
