/**
 * Configuration of pools of model servers: an endpoint picker says which of them gets a request (Gateway API Inference
 * Extension, endpoint picker protocol).
 */
import type { InferencePoolBackend } from '#backends/http/config/snapshot.ts'
import { allLevels, type BackendConfig } from '#engine/contract/backend-config.ts'
import { target } from '#engine/schema/net.ts'
import { list, z } from '#engine/schema/schema.ts'
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

const schema = z.strictObject({
  endpoints: endpoints(),
  failureMode: z
    .enum(['FailOpen', 'FailClose'])
    .optional()
    .describe('Without a pick that is one of them: any of them, or 503. Default FailClose.')
})

export const inferencePoolConfig: BackendConfig = {
  isPlain: true,
  policies: staticConfig.policies,
  keys: [
    {
      name: 'inferencePool',
      schema: onlyInFiles(schema.optional().describe('Model servers, of which an endpoint picker chooses one.'))
    }
  ],
  translate(_key, file: z.output<typeof schema>, { policies, levels, transportOf, authOf }): InferencePoolBackend {
    const [transport, auth, http] = [transportOf(), authOf(), mergedHttp(allLevels(levels))]
    return {
      kind: 'inferencePool',
      endpoints: file.endpoints.map(({ host, port }) => ({ host, port })),
      isOpen: file.failureMode === 'FailOpen',
      policies,
      ...(transport === undefined ? {} : { transport }),
      ...(http === null ? {} : { http }),
      ...(auth === undefined ? {} : { auth })
    }
  },
  differs: staticConfig.differs
}
