/** Makes the form of a load of several tables. */

/** @param files the content of each file, by the name by which the plan names it */
export function planForm(plan: unknown, files: Record<string, string | Buffer>): FormData {
  const form = new FormData();
  form.append('plan', JSON.stringify(plan));
  for (const [name, content] of Object.entries(files))
    form.append(name, new Blob([new Uint8Array(Buffer.from(content as string))]), `${name}.csv`);
  return form;
}
