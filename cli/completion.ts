/** `tablewright completion`: prints the script with which a shell completes commands, options and their values. */
import process from 'node:process';
import { type Command, type CommandLine, commands, type Option } from './commands.ts';
import { exitCodes, WrongUse } from './exit-codes.ts';

export async function completion({ positionals: [shell] }: CommandLine): Promise<number> {
  const script = shell === undefined ? undefined : scripts[shell]?.();
  if (script === undefined) throw new WrongUse('Name the shell: bash, zsh or fish.');
  process.stdout.write(script);
  return exitCodes.done;
}

const scripts: Record<string, () => string> = {
  bash: bashScript,
  // zsh can use completion scripts of bash.
  zsh: () => `#compdef tablewright\nautoload -U +X bashcompinit && bashcompinit\n${bashScript()}`,
  fish: fishScript,
};

function bashScript(): string {
  const cases = Object.entries<Command>(commands).map(
    ([name, { options }]) =>
      `    ${name}) words="${[...Object.keys(options), 'help'].map((one) => `--${one}`).join(' ')}" ;;`,
  );
  const values = new Map(
    Object.values<Command>(commands)
      .flatMap(({ options }) => Object.entries(options))
      .map(([name, { choices = [] }]) => [name, choices.filter(isWord)] as const)
      .filter(([, choices]) => choices.length > 0),
  );
  const valueCases = [...values].map(
    ([name, choices]) =>
      `    --${name}) COMPREPLY=($(compgen -P "$prefix" -W "${choices.join(' ')}" -- "$word")); return ;;`,
  );
  return `_tablewright() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words="" prefix=""
  # bash makes "--option", "=" and the value three words, and zsh one.
  if [ "$word" = "=" ]; then word=""
  elif [ "$before" = "=" ]; then before="\${COMP_WORDS[COMP_CWORD-2]}"
  else case "$word" in --*=*) before="\${word%%=*}" prefix="$before=" word="\${word#*=}" ;; esac
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${Object.keys(commands).join(' ')} --help --version" -- "$word"))
    return
  fi
  case "$before" in
${valueCases.join('\n')}
    completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$word")); return ;;
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words" -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -o filenames -F _tablewright tablewright
`;
}

function fishScript(): string {
  const lines = Object.entries<Command>(commands).flatMap(([name, { about, options }]) => [
    `complete -c tablewright -n __fish_use_subcommand -f -a ${name} -d ${quoted(about)}`,
    ...Object.entries(options).map(([option, text]) => fishOption(name, option, text)),
  ]);
  return `${lines.join('\n')}\n`;
}

function fishOption(command: string, name: string, { value, choices, about }: Option): string {
  const words = choices?.filter(isWord).join(' ');
  const values = value === undefined ? '' : words ? ` -x -a ${quoted(words)}` : ' -r';
  return `complete -c tablewright -n '__fish_seen_subcommand_from ${command}' -l ${name}${values} -d ${quoted(about)}`;
}

/** Signs such as quotes have a meaning in a shell, so choices with them are not proposed. */
function isWord(choice: string): boolean {
  return /^\w+$/.test(choice);
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
