/** spec.traffic.headerModifiers: adds, sets and removes header fields with fixed values. */

import { CONTINUE, type Filter } from '#engine/contract/filter.ts'
import type { Compiled, Policy } from '#engine/contract/policy.ts'
import { parseAuthority } from '#engine/http/authority.ts'
import type { HeaderBlock } from '#engine/http/headers.ts'
import { atLeastOne } from '#engine/schema/choice.ts'
import { cel, ONLY_FILES, ONLY_GATEWAY } from '#engine/schema/rule.ts'
import { deferred, list, z } from '#engine/schema/schema.ts'
import { inResources } from '#engine/schema/spelling.ts'
import { FIELDS_MAX, headerName } from '#policies/shared/field.ts'

// Tab, space to "~", and Latin-1: a wider character would be cut to its last octet, which may be a line feed.
const headerValue = () =>
  z
    .string()
    .max(4096)
    .regex(/^[\t -~\x80-\xff]*$/, 'must not contain CR, LF, NUL or other characters that a header cannot carry')

interface Field {
  readonly name: string
  readonly value: string
}

type Side = 'request' | 'response'
const BAD_HOST = 'host must be a host name or address, with or without ":port"'

/** A list of {name, value} as in the Gateway API, or a map as in the file of other gateways. */
const fields = (side: Side) => {
  const listed = list(
    z.strictObject({ name: headerName(), value: headerValue() }).refine((field) => !isBadHost(side, field), {
      path: ['value'],
      message: BAD_HOST,
      params: ONLY_GATEWAY
    }),
    1,
    FIELDS_MAX
  )
  const either = z
    .union([
      listed,
      z
        .record(z.string(), headerValue())
        .superRefine((map, context) => checkMap(side, map, context))
        .meta({ minProperties: 1, maxProperties: FIELDS_MAX })
    ])
    .transform((config): readonly Field[] =>
      Array.isArray(config) ? config : Object.entries(config).map(([name, value]) => ({ name, value }))
    )
  return inResources(either, listed)
}

/** Made once: a schema costs more to make than to use, and a file may have thousands of maps. */
const NAME = headerName()

/** Names of a map are checked here, so that the problem and not only "invalid key" is reported. */
function checkMap(side: Side, map: Readonly<Record<string, string>>, context: z.RefinementCtx): void {
  const entries = Object.entries(map)
  if (entries.length < 1 || entries.length > FIELDS_MAX) {
    context.addIssue({ code: 'custom', message: `must have 1 to ${FIELDS_MAX} entries` })
  }
  for (const [name, value] of entries) {
    for (const { message } of NAME.safeParse(name).error?.issues ?? []) {
      context.addIssue({ code: 'custom', path: [name], message })
    }
    if (isBadHost(side, { name, value })) context.addIssue({ code: 'custom', path: [name], message: BAD_HOST })
  }
}

function isBadHost(side: Side, field: Field): boolean {
  return side === 'request' && isHost(field.name) && parseAuthority(field.value) === null
}

function isHost(name: string): boolean {
  return name.toLowerCase() === 'host'
}

const removals = (side: Side) =>
  list(
    headerName().refine((name) => side === 'response' || !isHost(name), {
      message: 'host cannot be removed: every request needs one',
      params: side === 'response' ? ONLY_FILES : cel("self.lowerAscii() != 'host'")
    }),
    1,
    FIELDS_MAX
  )

const modifier = (side: Side) =>
  atLeastOne({ add: fields(side).optional(), set: fields(side).optional(), remove: removals(side).optional() })

const schema = deferred(() =>
  atLeastOne({ request: modifier('request').optional(), response: modifier('response').optional() })
)

type Modifier = z.output<ReturnType<typeof modifier>>

// --- build time ---

/** Everything that can be worked out ahead; host apart. */
interface Edits {
  /** Names in lower case of what a message may not have beside `append`; null: none. */
  readonly gone: readonly string[] | null
  readonly append: readonly Field[]
}

function compile({ request, response }: z.output<typeof schema>): Compiled {
  return {
    filter: {
      ...(request === undefined ? {} : { onRequest: compileRequest(request) }),
      ...(response === undefined ? {} : { onResponse: compileResponse(response) })
    }
  }
}

function compileRequest(config: Modifier): NonNullable<Filter['onRequest']> {
  const all = [...(config.add ?? []), ...(config.set ?? [])]
  // The engine writes Host itself, once, from ex.upstreamHost.
  const host = all.findLast((field) => isHost(field.name))?.value ?? null
  const edits = compileEdits({
    add: config.add?.filter((field) => !isHost(field.name)),
    set: config.set?.filter((field) => !isHost(field.name)),
    remove: config.remove
  })
  return (ex) => {
    if (host !== null) ex.upstreamHost = host
    edit(ex.request, edits)
    return CONTINUE
  }
}

function compileResponse(config: Modifier): NonNullable<Filter['onResponse']> {
  const edits = compileEdits(config)
  return (ex) => {
    if (ex.response !== null) edit(ex.response, edits)
    return CONTINUE
  }
}

/** As if fields were added, then set, then removed. */
function compileEdits({ add = [], set = [], remove = [] }: Modifier): Edits {
  const lower = ({ name }: Field): string => name.toLowerCase()
  const removed = new Set(remove.map((name) => name.toLowerCase()))
  const last = new Map(set.map((field) => [lower(field), field]))
  const gone = new Set([...removed, ...last.keys()])
  return {
    gone: gone.size === 0 ? null : [...gone],
    append: [
      ...add.filter((field) => !gone.has(lower(field))),
      ...[...last.values()].filter((field) => !removed.has(lower(field)))
    ]
  }
}

// --- request time ---

function edit(block: HeaderBlock, { gone, append }: Edits): void {
  if (gone !== null) block.strip(gone)
  for (let i = 0; i < append.length; i++) block.append(append[i]!.name, append[i]!.value)
}

export const headerModifiers: Policy = {
  name: 'headerModifiers',
  section: 'traffic',
  schema,
  aliases: [
    { name: 'requestHeaderModifier', wrap: 'request', schema: deferred(() => modifier('request')) },
    { name: 'responseHeaderModifier', wrap: 'response', schema: deferred(() => modifier('response')) }
  ],
  atReferences: true,
  compile
}
