/** Detects that a chosen file can no longer be read. Browsers refuse to read a file that was changed or removed after it was chosen. */

export class ChangedFileError extends Error {
  override readonly name = 'ChangedFileError';
}

/** Tries to read the first byte. @returns the error; undefined if the file can be read */
export async function changeOf({
  name,
  content,
}: {
  name: string;
  content: Pick<Blob, 'slice'>;
}): Promise<ChangedFileError | undefined> {
  try {
    await content.slice(0, 1).arrayBuffer();
    return undefined;
  } catch (cause) {
    const { name: kind } = cause as DOMException;
    if (kind !== 'NotReadableError' && kind !== 'NotFoundError') return undefined;
    return new ChangedFileError(`${name} was changed or removed after you chose it. Choose it again.`, {
      cause,
    });
  }
}
