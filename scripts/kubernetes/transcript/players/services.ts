/** Services that policies ask: authorization, limits and processing over gRPC; each prints what it was asked. */
import { startHttpCollector } from '#engine/testing/otlp-collector.ts'
import { allowed, denied, option, startGrpcAuthorizer } from '#policies/traffic/ext-auth/services.fixture.ts'
import { answerTo, fieldsOf, mutation, startProcessor } from '#policies/traffic/ext-proc/services.fixture.ts'
import { counting, startLimitService } from '#policies/traffic/rate-limit/service.fixture.ts'
import { relayTo } from './relay.ts'

/** Clients that say who they are come in. */
export async function playAuthorizer(): Promise<void> {
  const { port } = await startGrpcAuthorizer(({ attributes }) => {
    const http = attributes?.request?.http
    const metadata = JSON.stringify(attributes?.metadataContext?.filterMetadata ?? {})
    const extensions = JSON.stringify(attributes?.contextExtensions ?? {})
    console.log(
      `check ${http?.method} ${http?.path} | extensions ${extensions} | metadata ${metadata} | body ${http?.body}`
    )
    const who = http?.headers['x-who']
    return who === undefined ? denied(403, [], 'who are you?') : allowed({ headers: [option('x-user', who)] })
  })
  await relayTo(port)
}

const HITS_MAX = 2

export async function playLimits(): Promise<void> {
  const judge = counting(HITS_MAX)
  const { port } = await startLimitService((request) => {
    const descriptors = request.descriptors.map(({ entries }) => entries.map(({ key, value }) => `${key}=${value}`))
    console.log(`limit ${request.domain} | ${descriptors.join(' ')} | hits ${request.hitsAddend}`)
    return judge(request)
  })
  await relayTo(port)
}

export async function playProcessor(): Promise<void> {
  const { port } = await startProcessor((request) => {
    const kind = request.request?.$case ?? ''
    console.log(`process ${kind} ${fieldsOf(request)[':path'] ?? ''}`)
    return [answerTo(request, { headerMutation: mutation({ 'x-processed': 'yes' }) })]
  })
  await relayTo(port)
}

/** Prints spans that it gets: name, attributes, those of the resource. */
export async function playCollector(): Promise<void> {
  const collector = await startHttpCollector((response, index) => {
    for (const { name, attributes, resource } of collector.exports[index]?.spans ?? []) {
      console.log(`span ${name} | ${JSON.stringify(attributes)} | ${JSON.stringify(resource)}`)
    }
    response.end()
  })
  await relayTo(collector.port)
}
