/** Parses server-sent events (HTML standard, section 9.2.6), only as the service sends them: each event has one line of data. */

/** Yields the data of each event. For each comment it yields undefined, which shows that the connection still works. */
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
    // Closes the stream, because the consumer may stop before its end.
    await reader.cancel().catch(() => {});
  }
}
