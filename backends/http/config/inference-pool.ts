/**
 * Configuration of pools of model servers: an endpoint picker says which of them gets a request (Gateway API Inference
 * Extension, endpoint picker protocol).
 */
import type { InferencePoolBackend, ListedPoolBackend, PoolConnections } from '#backends/http/config/snapshot.ts'
import { allLevels, type BackendConfig, type TranslateContext } from '#engine/contract/backend-config.ts'
import { target } from '#engine/schema/net.ts'
import { list, longString, z } from '#engine/schema/schema.ts'
import { onlyInFiles } from '#engine/schema/spelling.ts'
import { staticConfig } from './plain.ts'
import { mergedHttp } from './policies.ts'

const ENDPOINTS_MAX = 256

const endpoints = () =>
  list(target(), 1, ENDPOINTS_MAX)
    .superRefine((all, context) => {
      const names = all.map(({ host, port }) => `${host}:${port}`)
      all.forEach(({ unixPath }, i) => {
        const report = (message: string) => context.addIssue({ code: 'custom', path: [i], message })
        if (unixPath !== null) report('must be "host:port": a picker names addresses with a port')
        else if (names.indexOf(names[i]!) < i) report(`is ${names[i]} again`)
      })
    })
    .describe('"address:port" of each model server, as the picker names them. No other one gets a request.')

const failureMode = () =>
  z
    .enum(['FailOpen', 'FailClose'])
    .optional()
    .describe('Without a pick that is one of them: any of them, or 503. Default FailClose.')

const schema = z.strictObject({ endpoints: endpoints(), failureMode: failureMode() })

const listed = z.strictObject({
  list: longString().describe('Name of the list of its endpoints, which change while the configuration stays.'),
  failureMode: failureMode()
})

function connectionsOf({ levels, transportOf, authOf }: TranslateContext): PoolConnections {
  const [transport, auth, http] = [transportOf(), authOf(), mergedHttp(allLevels(levels))]
  return {
    ...(transport === undefined ? {} : { transport }),
    ...(http === null ? {} : { http }),
    ...(auth === undefined ? {} : { auth })
  }
}

export const inferencePoolConfig: BackendConfig = {
  isPlain: true,
  policies: staticConfig.policies,
  keys: [
    {
      name: 'inferencePool',
      schema: onlyInFiles(schema.optional().describe('Model servers, of which an endpoint picker chooses one.'))
    }
  ],
  translate(_key, file: z.output<typeof schema>, context): InferencePoolBackend {
    return {
      kind: 'inferencePool',
      endpoints: file.endpoints.map(({ host, port }) => ({ host, port })),
      isOpen: file.failureMode === 'FailOpen',
      policies: context.policies,
      ...connectionsOf(context)
    }
  },
  differs: staticConfig.differs
}

/** What a translation of resources writes for an InferencePool. */
export const listedPoolConfig: BackendConfig = {
  isPlain: true,
  policies: staticConfig.policies,
  isTranslated: true,
  keys: [
    {
      name: 'listedPool',
      schema: listed.optional().describe('Model servers of an InferencePool.'),
      isAlias: true,
      isNamedOnly: true
    }
  ],
  translate(_key, { list, failureMode: mode }: z.output<typeof listed>, context): ListedPoolBackend {
    const isOpen = mode === 'FailOpen'
    return { kind: 'listedPool', list, isOpen, policies: context.policies, ...connectionsOf(context) }
  },
  differs: staticConfig.differs
}
