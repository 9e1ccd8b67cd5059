/** Rules of TLSRoute and TCPRoute -> `tcpRoutes` in a file's spelling. */
import type { RouteParts } from '#engine/kubernetes/translation/parts.ts'
import { objectOf, type Path, type Raw } from '#engine/schema/placed.ts'
import { STREAM_RULE, type WeightedRef } from './fields.ts'
import { gatewayBackendName, namedBackend, streamBackendName } from './names.ts'
import { translated } from './request-rules.ts'
import type { RouteContext, RuleBuilder } from './rule-builder.ts'

/** `suffix`: tells routes of other kinds with the same name apart. */
export function streamRules(rules: readonly unknown[], context: RouteContext, suffix: string): RouteParts {
  const { namespace = '', name } = context.route.metadata
  return translated(rules, context, STREAM_RULE, ({ backendRefs = [] }, builder) => {
    const path = [...builder.path, 'backendRefs']
    const isNone = backendRefs.every(({ weight }) => weight === 0)
    const backends = isNone
      ? [{ backend: builder.invalid('NoBackendRefs') }]
      : backendRefs.map((ref, i) => {
          builder.origin(['backends', i], [...path, i])
          return backendOf(ref, [...path, i], builder, context)
        })
    return builder.part({ name: `${gatewayBackendName(namespace, name)}${suffix}`, backends })
  })
}

function backendOf(
  { weight = 1, ...ref }: WeightedRef,
  path: Path,
  builder: RuleBuilder,
  { route, objects }: RouteContext
): Raw {
  const resolved = builder.resolve(ref, path)
  if ('invalid' in resolved) return { backend: builder.use(resolved.invalid), weight }
  const isService = namedBackend(resolved.name) !== null
  const found = isService
    ? null
    : objects.get('GatewayBackend', ref.namespace ?? route.metadata.namespace ?? '', ref.name)
  if (isService || objectOf(found?.spec).static !== undefined)
    return { backend: builder.use(streamBackendName(resolved.name)), weight }
  const message = `connections of a ${route.kind} go to Services, and to GatewayBackends with static`
  builder.refuse('ResolvedRefs', 'InvalidKind', message, [...path, 'name'])
  return { backend: builder.invalid('InvalidKind'), weight }
}
