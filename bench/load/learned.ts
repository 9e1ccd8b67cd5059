/**
 * Expected answers of gateways that write answers of models in their own way: the first few must contain all that the
 * model has said; later ones are compared with those byte by byte, but for ids and times.
 */
import { request as ask } from 'node:http'
import { setTimeout as after } from 'node:timers/promises'
import type { Expected } from './generator/job.ts'

/** An Expected as it crosses a process boundary. */
export interface Learned {
  readonly status: number
  /** Of the body, as latin1. */
  readonly text: string
  readonly unlike: readonly (readonly [start: number, end: number])[]
}

const SAMPLES = 4
const RETRY_MS = 100
/** Values of these differ in every answer, if only from one second to the next. */
const NAMING = /"(?:id|created|created_at)": ?(?:"[^"]*"|\d+)/g
const WORD = /[\w.-]/

/**
 * `request`: whole, as latin1. `said`: pieces of text that must be in every answer, in order. Throws with what is
 * wrong.
 */
export async function learn(
  port: number,
  request: string,
  pieces: readonly string[],
  isAlive: () => boolean,
  waitMsMax: number
): Promise<Learned> {
  const deadline = Date.now() + waitMsMax
  const samples: string[] = []
  while (samples.length < SAMPLES) {
    try {
      samples.push(await answerOf(port, request))
    } catch (error) {
      const isStarting = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
      if (!isStarting || !isAlive() || Date.now() > deadline) throw error
      await after(RETRY_MS)
    }
  }
  return common(samples, pieces)
}

/** Throws an Error when an answer lacks one of `pieces`, or when they differ in length. */
export function common(samples: readonly string[], pieces: readonly string[]): Learned {
  const [text = ''] = samples
  let at = 0
  for (const piece of pieces) {
    at = text.indexOf(piece, at)
    if (at < 0) throw new Error(`its answer lacks "${piece.slice(0, 40)}": ${text.slice(0, 400)}`)
    at += piece.length
  }
  if (samples.some((sample) => sample.length !== text.length)) throw new Error('its answers differ in length')
  const isUnlike = new Uint8Array(text.length)
  for (const { index, 0: found } of text.matchAll(NAMING)) isUnlike.fill(1, index, index + found.length)
  for (let i = 0; i < text.length; i++) {
    if (isUnlike[i] === 1 || samples.every((sample) => sample[i] === text[i])) continue
    // The whole word: by chance some of its letters are the same in all samples.
    let [start, end] = [i, i + 1]
    while (start > 0 && WORD.test(text[start - 1]!)) start--
    while (end < text.length && WORD.test(text[end]!)) end++
    isUnlike.fill(1, start, end)
  }
  return { status: 200, text, unlike: rangesOf(isUnlike) }
}

function rangesOf(marks: Uint8Array): [number, number][] {
  const ranges: [number, number][] = []
  for (let start = marks.indexOf(1); start >= 0; ) {
    const end = marks.indexOf(0, start)
    ranges.push([start, end < 0 ? marks.length : end])
    start = end < 0 ? -1 : marks.indexOf(1, end)
  }
  return ranges
}

export function expectedOfLearned({ status, text, unlike }: Learned): Expected {
  return { status, body: Buffer.from(text, 'latin1'), unlike }
}

/** The body, as latin1. Throws on any status but 200. */
function answerOf(port: number, request: string): Promise<string> {
  const [head = '', body = ''] = request.split('\r\n\r\n')
  const [line = '', ...fields] = head.split('\r\n')
  const [method = '', path = ''] = line.split(' ')
  const headers = fields.flatMap((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 2)])
  return new Promise((resolve, reject) => {
    const sent = ask({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = []
      answer.on('data', (chunk: Buffer) => chunks.push(chunk))
      answer.on('error', reject)
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString('latin1')
        if (answer.statusCode === 200) resolve(text)
        else reject(new Error(`it answers with ${answer.statusCode}: ${text.slice(0, 400)}`))
      })
    })
    sent.on('error', reject)
    sent.end(body, 'latin1')
  })
}
