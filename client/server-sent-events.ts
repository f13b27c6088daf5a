/** Reads server-sent events (HTML standard, section 9.2.6), as far as the service sends them: events with one line of data. */

/** Yields the data of each event, and undefined for each comment, which shows that the connection works. */
export async function* readEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<string | undefined> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) yield /^data: ?(.*)$/m.exec(block)?.[1];
    }
  } finally {
    // The consumer may stop before the end.
    await reader.cancel().catch(() => {});
  }
}
