/** Makes the form of a load of several tables. */

/**
 * @param files the content of each file, by the name by which the plan names it
 * @param links the links of other files
 */
export function planForm(
  plan: unknown,
  files: Record<string, string | Buffer>,
  links: Record<string, string> = {},
): FormData {
  const form = new FormData();
  form.append('plan', JSON.stringify(plan));
  for (const [name, content] of Object.entries(files))
    form.append(name, new Blob([new Uint8Array(Buffer.from(content as string))]), `${name}.csv`);
  for (const [name, link] of Object.entries(links)) form.append(name, JSON.stringify({ from_url: link }));
  return form;
}
