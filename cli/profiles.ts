/** `tablewright profiles`: the upload profiles that the service keeps */
import type { Client, Profile, ProfileContent } from '../client/client.ts';
import { type CommandLine, optionOf } from './commands.ts';
import { withClient } from './connect.ts';
import { WrongUse } from './exit-codes.ts';
import { say, sayJson, sayTable } from './print.ts';
import { readDefinition } from './source.ts';
import { queryOf } from './upload-query.ts';

export async function profiles(line: CommandLine): Promise<number> {
  const { positionals, options } = line;
  const [action = 'list', name, ...others] = positionals;
  const work = actions[action as keyof typeof actions];
  if (!Object.hasOwn(actions, action))
    throw new WrongUse(`profiles cannot "${action}": it can save, show and delete.`);
  const needsName = action !== 'list';
  if (others.length > 0 || (name !== undefined) !== needsName)
    throw new WrongUse(needsName ? 'Name one profile.' : 'The list takes no name.');
  const content = contentOf(options);
  if (action !== 'save' && Object.keys(content).length > 0)
    throw new WrongUse(`Options of uploads belong to "profiles save".`);
  return withClient(line, async ({ client }) => {
    await work(client, line, name ?? '', content);
  });
}

const actions = {
  async list(client: Client, { options }: CommandLine): Promise<void> {
    const rows: string[][] = [];
    for await (const profile of client.profiles()) {
      if (options.json) sayJson(profile);
      const { name, version, shared_with: schema, is_own: isOwn, parameters } = profile;
      rows.push([name, String(version), schema ?? '', isOwn ? 'yes' : 'no', optionsText(parameters)]);
    }
    const head = ['profile', 'version', 'shared with', 'own', 'options'];
    if (!options.json) sayTable(head, rows);
  },

  async save(client: Client, line: CommandLine, name: string, content: ProfileContent): Promise<void> {
    const { options } = line;
    const profile = await client.saveProfile(name, content, addressOf(line));
    if (options.json) sayJson(profile);
    else if (!options.quiet) say(`Profile ${name} is saved as version ${profile.version}.`);
  },

  async show(client: Client, line: CommandLine, name: string): Promise<void> {
    const { version } = line.options;
    const asked = version === undefined ? {} : { version: Number(version) };
    const profile = await client.profile(name, { ...addressOf(line), ...asked });
    if (line.options.json) sayJson(profile);
    else show(profile);
  },

  async delete(client: Client, line: CommandLine, name: string): Promise<void> {
    await client.deleteProfile(name, addressOf(line));
    if (line.options.json) sayJson({ profile: name, outcome: 'committed' });
    else if (!line.options.quiet) say(`Profile ${name} is deleted.`);
  },
};

function contentOf(options: CommandLine['options']): ProfileContent {
  const parameters = queryOf(options);
  const path = options.definition as string | undefined;
  return {
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...(path !== undefined && { table: readDefinition(path) }),
  };
}

function addressOf({ options }: CommandLine): { shared_with?: string } {
  const schema = options['shared-with'] as string | undefined;
  return schema === undefined ? {} : { shared_with: schema };
}

function show({ name, version, parameters, table, saved_at: savedAt }: Profile): void {
  say(`${name}, version ${version}, saved at ${savedAt}`);
  for (const [parameter, value] of Object.entries(parameters)) say(`--${optionOf(parameter)} ${value}`);
  if (table !== null) say(`definition: ${JSON.stringify(table)}`);
}

function optionsText(parameters: Record<string, string>): string {
  return Object.entries(parameters)
    .map(([parameter, value]) => `--${optionOf(parameter)} ${value}`)
    .join(' ');
}
