/** Reads a Dockerfile. It knows only what the Dockerfile of this project uses, and refuses everything else. */

export interface Instruction {
  name: string;
  /** The options, such as `from` of `COPY --from=build`. */
  options: Record<string, string>;
  rest: string;
}

export interface Stage {
  /** The image that the stage begins with. */
  base: string;
  /** The name after AS. The last stage has none. */
  name: string | undefined;
  instructions: Instruction[];
}

const known = ['COPY', 'RUN', 'ENV', 'WORKDIR', 'USER', 'EXPOSE', 'HEALTHCHECK', 'CMD'];

/** @throws Error that names the line which it does not know */
export function readDockerfile(text: string): Stage[] {
  const stages: Stage[] = [];
  for (const line of linesOf(text)) {
    const [, name = '', flags = '', rest = ''] = /^([A-Z]+)((?:\s+--\S+)*)\s+(.+)$/.exec(line) ?? [];
    if (name === 'FROM') {
      const [base = '', , stageName] = rest.split(/\s+/);
      stages.push({ base, name: stageName, instructions: [] });
    } else if (known.includes(name) && stages.length > 0) {
      const options = [...flags.matchAll(/--([\w-]+)=(\S+)/g)].map(([, key, value]) => [key!, value!]);
      stages.at(-1)!.instructions.push({ name, options: Object.fromEntries(options), rest });
    } else throw new Error(`the Dockerfile has a line that is not understood: ${line}`);
  }
  return stages;
}

/** Returns the words of the exec form, `["node", "main.js"]`. */
export function execForm(rest: string): string[] {
  return JSON.parse(rest.replace(/^CMD\s+/, ''));
}

/** Returns the pairs of ENV. */
export function environmentOf(rest: string): Record<string, string> {
  return Object.fromEntries([...rest.matchAll(/(\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]));
}

function linesOf(text: string): string[] {
  const withoutComments = text.replaceAll(/^\s*#.*\n/gm, '');
  return withoutComments
    .replaceAll(/\\\n\s*/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
