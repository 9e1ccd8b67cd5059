/** spec.traffic.urlRewrite: another path or authority for the upstream. The query stays. */
import { CONTINUE, type Hook } from '#engine/contract/filter.ts'
import type { CompileContext, Compiled, Policy } from '#engine/contract/policy.ts'
import { hostOf, portSuffix } from '#engine/http/authority.ts'
import { atLeastOne, oneOf } from '#engine/schema/choice.ts'
import { deferred, z } from '#engine/schema/schema.ts'
import { authorityText, checkPathModifier, hostText, modifyPath, pathModifier, port } from '#policies/shared/url.ts'

const schema = deferred(() =>
  atLeastOne({
    /** auto and none are those of hostRewrite; the others replace all, or one part, of the client's authority. */
    authority: z
      .union([
        z.enum(['auto', 'none']),
        oneOf({ full: authorityText().optional(), host: hostText().optional(), port: port().optional() })
      ])
      .optional(),
    path: pathModifier().optional()
  })
)

type Config = z.output<typeof schema>
type Replace = (authority: string) => string

// --- build time ---

function compile({ authority, path }: Config, context: CompileContext): Compiled {
  if (path !== undefined) checkPathModifier(path, context)
  const mode = typeof authority === 'string' ? authority : null
  const replace = compileAuthority(authority)
  // --- request time ---
  const onRequest: Hook = (ex) => {
    if (path !== undefined) ex.path = modifyPath(path, ex.path, ex)
    if (replace !== null) ex.upstreamHost = replace(ex.authority)
    return CONTINUE
  }
  return {
    ...(mode === null ? {} : { settings: { hostRewrite: mode } }),
    ...(path === undefined && replace === null ? {} : { filter: { onRequest } })
  }
}

function compileAuthority(config: Config['authority']): Replace | null {
  if (config === undefined || typeof config === 'string') return null
  const { full, host, port: number } = config
  if (full !== undefined) return () => full
  if (host !== undefined) return (authority) => host + portSuffix(authority)
  return (authority) => `${hostOf(authority)}:${number}`
}

export const urlRewrite: Policy = {
  name: 'urlRewrite',
  section: 'traffic',
  schema,
  aliases: [],
  inResources: 'route filter',
  atReferences: true,
  usesMatches: true,
  compile
}
