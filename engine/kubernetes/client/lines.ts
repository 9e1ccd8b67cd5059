/** Lines of a stream of bytes, however it is cut. */

const LF = 0x0a

/** Without their ends. Null: a line of more than `bytesMax`. What follows the last end of a line is left out. */
export async function* linesOf(stream: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<string | null> {
  let pieces: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    let start = 0
    for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
      const isTooLong = bytes + end - start > bytesMax
      if (bytes === 0) yield isTooLong ? null : chunk.toString('utf8', start, end)
      else yield isTooLong ? null : Buffer.concat([...pieces, chunk.subarray(start, end)]).toString()
      pieces = []
      bytes = 0
      start = end + 1
    }
    if (start === chunk.length) continue
    bytes += chunk.length - start
    // Of a line that is too long only the length is kept.
    if (bytes > bytesMax) pieces = []
    else pieces.push(chunk.subarray(start))
  }
}
