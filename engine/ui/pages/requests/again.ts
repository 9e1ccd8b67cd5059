/** A request that is over, to be sent again: as a command, and as a test. A story has no secret, nor have these. */
import type { Story } from '#engine/story/story.ts'
import { curlOf, type Sent } from '#engine/ui/format/request.ts'

/** What clients show to each policy, with a placeholder where it is secret. */
const SHOWN_TO: Readonly<Record<string, readonly [string, string]>> = {
  jwtAuthentication: ['authorization', 'Bearer <token>'],
  mcpAuthentication: ['authorization', 'Bearer <token>'],
  basicAuthentication: ['authorization', 'Basic <base64 of user:password>'],
  apiKeyAuthentication: ['authorization', 'Bearer <key>']
}

export const againAsCommand = (story: Story): string => curlOf(sentOf(story))

/** Passes as long as the answer has the status that it had, and is by the gateway if it was. */
export function againAsTest(story: Story): string {
  const { method, url, headers, body } = sentOf(story)
  const options = {
    ...{ method, redirect: 'manual' },
    ...(headers.length === 0 ? {} : { headers: Object.fromEntries(headers) }),
    ...(body === '' ? {} : { body })
  }
  const why = story.code === null ? `is served${story.backend === null ? '' : ` by ${story.backend}`}` : story.code
  return [
    "import { equal } from 'node:assert/strict'",
    "import { test } from 'node:test'",
    '',
    `test(${literal(`${method} ${url}: ${why}`)}, async () => {`,
    `  const response = await fetch(${literal(url)}, ${literal(options)})`,
    '  await response.text()',
    `  equal(response.status, ${story.status})`,
    '})',
    ''
  ].join('\n')
}

function sentOf({ request: { method, url }, steps, bytes }: Story): Sent {
  const shown = steps.flatMap((step) => (step.step === 'policy' ? [SHOWN_TO[step.policy]] : []))
  const headers = new Map(shown.filter((header) => header !== undefined))
  return { method, url, headers: [...headers], body: bytes.received === 0 ? '' : `<body of ${bytes.received} bytes>` }
}

/** JSON is JavaScript (ECMA-262, since 2019). */
const literal = (value: unknown): string => JSON.stringify(value)
