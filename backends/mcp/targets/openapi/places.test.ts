/** Places in a file of problems inside the documents of its `mcp` targets. */

import { deepEqual, match } from 'node:assert/strict'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { mcpBackend } from '#backends/mcp/backend.ts'
import { prepareBackends } from '#engine/build/prepare.ts'
import { loadConfig } from '#engine/standalone/load.ts'
import { policies } from '#policies/index.ts'

const BODY = '{ required: true, content: { multipart/mixed: {} } }'
const DOCUMENT = `{ openapi: 3.1.0, paths: { /a: { get: {}, post: { requestBody: ${BODY} } } } }`
const WARNED = 'paths["/a"].post: its body is of no kind that can be written: left out'
const target = (more = '', document = DOCUMENT): string =>
  `{ name: a, openapi: { host: "http://b:1", schema: ${document}${more} } }`

function messagesOf(text: string): string[] {
  const loaded = loadConfig(text, {
    file: 'weir.yaml',
    env: {},
    policies,
    backends,
    prepare: (draft, warn) => prepareBackends(draft, [mcpBackend], warn)
  })
  if (loaded.ok) return [...loaded.warnings]
  return loaded.errors.map(({ line, column, path, message }) => `refused ${line}:${column} ${path}: ${message}`)
}

const route = (backend: string, more = ''): string => `binds:
  - port: 1
    listeners:
      - routes:
          - backends: [{ host: "b:1" }]
            matches: [{ path: { exact: /b } }]
          - name: mine
            ruleName: r.1
            backends: [{ ${backend} }]
${more}`

test('warnings name the file, the line and the path, wherever the target stands', () => {
  deepEqual(messagesOf(`mcp:\n  targets:\n    - ${target()}`), [
    `weir.yaml:3:49: mcp.targets[0].openapi.schema: ${WARNED}`
  ])
  const inRoute = 'binds[0].listeners[0].routes[1].backends[0].mcp.targets[0].openapi.schema'
  deepEqual(messagesOf(route(`mcp: { targets: [${target()}] }`)), [`weir.yaml:9:85: ${inRoute}: ${WARNED}`])
  const backends = `backends:\n  - name: b.c\n    mcp: { targets: [${target()}] }\n`
  const named = [`weir.yaml:12:64: backends[0].mcp.targets[0].openapi.schema: ${WARNED}`]
  deepEqual(messagesOf(route('backend: b.c', backends)), named)
  // Its copy for the route, which has rules of its own, has the same mistakes.
  const rules = 'policies: { mcpAuthorization: { rules: ["true"] } }'
  deepEqual(messagesOf(route(`backend: b.c, ${rules}`, backends)), named)
})

test('errors name them too', () => {
  deepEqual(messagesOf(`mcp:\n  targets:\n    - ${target(', operations: { include: [nope] }')}`), [
    'refused 3:206 mcp.targets[0].openapi.operations.include[0]: "nope" matches no operation: there are GET /a, POST /a'
  ])
  const empty = '{ openapi: 3.1.0, paths: {} }'
  deepEqual(messagesOf(`mcp:\n  targets:\n    - ${target('', empty)}`), [
    'refused 3:49 mcp.targets[0].openapi.schema: paths: there is no operation, so there would be no tool'
  ])
})

test('a document beyond a limit as a whole is refused at its place in the file, with the operation that exceeds the limit', () => {
  const get = `{ get: {}, parameters: [${'{ name: X-Forwarded-A, in: header }, '.repeat(2000)}] }`
  const paths = Array.from({ length: 500 }, (_, i) => `/${i}: { $$ref: "#/item" }`).join(', ')
  const [only, ...rest] = messagesOf(
    `mcp:\n  targets:\n    - ${target('', `{ openapi: 3.1.0, item: ${get}, paths: { ${paths} } }`)}`
  )
  deepEqual(rest, [])
  match(
    only!,
    /^refused 3:\d+ mcp\.targets\[0\]\.openapi\.schema: paths\["\/\d+"\]\.get: .* more than 2000000 steps: say which/
  )
})
