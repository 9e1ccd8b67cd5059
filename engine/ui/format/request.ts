/** Requests as text: lines of headers, and a command for the shell. */

/** "x-team: red", a line each. Lines without a colon are left to the API, which tells what is wrong with them. */
export function headersOf(text: string): [string, string][] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) => {
      const colon = line.indexOf(':')
      return colon < 0 ? [line, ''] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()]
    })
}

export interface Sent {
  readonly method: string
  readonly url: string
  readonly headers: readonly (readonly [string, string])[]
  readonly body: string
}

/** For POSIX shells, whatever the parts have in them. */
export function curlOf({ method, url, headers, body }: Sent): string {
  const isPlain = method === 'GET' || (method === 'POST' && body !== '')
  const verb = method === 'HEAD' ? ['--head'] : isPlain ? [] : ['-X', method]
  const fields = headers.flatMap(([name, value]) => ['-H', value === '' ? `${name};` : `${name}: ${value}`])
  const data = body === '' ? [] : ['--data-raw', body]
  return ['curl', '-i', ...verb, url, ...fields, ...data].map(quoted).join(' ')
}

const quoted = (word: string): string => (/^[\w./:=@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)
