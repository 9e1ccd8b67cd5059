/** Models of many providers behind one route, chosen by the name in the request. */
import type { AiBackend, AiRouteType, AiStored, ModelsBackend } from '#backends/llm/config/snapshot.ts'
import { beginPreparation, finishPreparation, resumePreparation } from '#backends/shared/preparation.ts'
import { whenSettled } from '#backends/shared/when-settled.ts'
import { REQUEST_HEAD_ROOTS } from '#engine/cel/exchange.ts'
import { compileExpression } from '#engine/cel/expression.ts'
import type { BackendContext, BackendKind, CompiledBackend } from '#engine/contract/backend.ts'
import { offloadFor } from '#engine/contract/client-key.ts'
import { BODY_NONE, type DialectFinder, type Exchange } from '#engine/contract/exchange.ts'
import { CONTINUE, type RetryPlan, type Verdict } from '#engine/contract/filter.ts'
import { xorshift32 } from '#engine/kit/random.ts'
import { errorDialectAt, KEY_PLACES } from './answer/error-dialect.ts'
import { errorDialectOf, listModels, refusalReply } from './answer/local-replies.ts'
import { noSuchModel } from './answer/no-such-model.ts'
import { aiBackend } from './backend.ts'
import type { ClientFormat } from './conversation.ts'
import { ModelPatterns } from './edits/model-patterns.ts'
import { FormatError } from './formats/format.ts'
import { TOO_DEEP } from './offload/job.ts'
import { readModelInPool } from './offload/pool.ts'
import { LARGE_BYTES } from './offload/threshold.ts'
import { fnv } from './plan/ranking.ts'
import { keyReader } from './plan/routing-key.ts'
import { modelsOfDispatcher } from './prices/named-models.ts'
import { modelAhead } from './request/body-model.ts'
import { decodedName, modelPathOf } from './request/model-path.ts'
import { singleText } from './request/multipart.ts'
import type { ListClient } from './routes/answer-spec.ts'
import { clientOf, servedPaths, typeOf } from './routes/index.ts'
import type { ModelNames } from './routes/models.ts'
import { isOperation, operationKind } from './routes/operations.ts'
import { providersOfPort, storedOfPort } from './stored/port.ts'
import { passingForm } from './uploads/passing-form.ts'
import { whenUpload } from './uploads/upload.ts'
import { modelRefusal, modelsFor, noteRefusal } from './usage/spending.ts'

interface Model {
  readonly isPublic: boolean
  readonly service: CompiledBackend
}

interface Split {
  /** Null: each request is drawn. */
  readonly keyOf: ((ex: Exchange) => string | null) | null
  readonly targets: readonly {
    readonly weight: number
    /** Null: by weight. */
    readonly isFor: ((ex: Exchange) => boolean) | null
    readonly service: CompiledBackend
  }[]
  readonly total: number
}

class ModelDispatcher implements CompiledBackend {
  readonly retry: RetryPlan | null
  readonly #context: BackendContext
  readonly #routes: ModelsBackend['routes']
  readonly #names: ModelPatterns<Model>
  readonly #splits: ReadonlyMap<string, Split>
  readonly #aliases: ReadonlyMap<string, string>
  readonly #known: ModelNames
  /** The defaults. */
  readonly #nowhere: string
  readonly #services: readonly CompiledBackend[]
  /** Of what providers keep: it is no model's. */
  readonly #stored: CompiledBackend
  readonly #random = xorshift32()

  constructor(backend: ModelsBackend, context: BackendContext) {
    this.#context = context
    this.#routes = backend.routes
    const among = providersOfPort(backend)
    const serviceOf = (name: string, ai: AiBackend, stored: AiStored = { ...ai.stored, among }) =>
      aiBackend.compile({ ...ai, stored } as never, { ...context, name: `llm/${name}` })
    const kept = storedOfPort(backend, context.secret)
    this.#stored = serviceOf('stored', kept, kept.stored)
    const models = backend.models.map(({ name, isPublic, backend: ai }) => {
      return { name, isPublic, service: serviceOf(name, ai) }
    })
    const splits = backend.splits.map(({ name, strategy, key, targets }) => {
      const weights = targets.map(({ weight, when }) => (when === undefined ? weight : 0))
      const total = weights.reduce((sum, weight) => sum + weight, 0)
      const all = targets.map(({ when, backend: ai }, i) => {
        const weight = weights[i]!
        const branch = { name, strategy, when, key, percent: total === 0 ? 0 : (100 * weight) / total }
        return { weight, isFor: conditionOf(when), service: serviceOf(name, { ...ai, branch }) }
      })
      return [name, { keyOf: key === undefined ? null : keyReader(key), targets: all, total }] as const
    })
    const services = [...models, ...splits.flatMap(([, { targets }]) => targets)].map(({ service }) => service)
    this.#services = [...services, this.#stored]
    this.#names = new ModelPatterns(models.map((model) => [model.name, model]))
    this.#splits = new Map(splits)
    this.#aliases = new Map(Object.entries(backend.aliases))
    const named = models.flatMap(({ name, isPublic }) => (isPublic && !name.includes('*') ? [name] : []))
    const names = [...new Set([...this.#aliases.keys(), ...this.#splits.keys(), ...named])]
    this.#known = { names, isServed: (name) => this.#isServed(name) }
    const others = 'others are passed on when their body is JSON that names a model'
    this.#nowhere = `nothing is served at this path: ${servedPaths(backend.routes)}; ${others}`
    this.retry = this.#plan()
  }

  readonly keyLocations = KEY_PLACES

  readonly dialect: DialectFinder = (ex, isRouted) => errorDialectAt(this.#routes, ex, isRouted)

  readonly isUsable = (): boolean => this.#services.some(({ isUsable }) => isUsable())

  /** Once per attempt. */
  readonly serve = (ex: Exchange): void => {
    // Who was chosen serves all attempts.
    const chosen = this.#chosen(ex)
    if (chosen !== undefined) {
      chosen.serve(ex)
      return
    }
    if (resumePreparation(ex, this)) return
    ex.backend = this.#context.name
    const type = typeOf(this.#routes, ex)
    if (type === 'PATH_AMBIGUOUS') {
      this.#context.fail(ex, type)
      return
    }
    const client = clientOf(type, ex) ?? 'completions'
    if (isOperation(type) && operationKind(type).isKept?.(ex) === true) {
      this.#serveStored(ex)
      return
    }
    if (type === 'Models') {
      listModels(ex, this.#context, client as ListClient, modelsFor(ex, this.#known))
      return
    }
    if (type === 'Passthrough' && ex.requestBody === BODY_NONE && modelPathOf(ex.path) === null) {
      // No route of the port fits, and nothing in the request could name a model.
      this.#refuse(ex, client, 404, new FormatError('', this.#nowhere))
      return
    }
    beginPreparation(ex, this)
    whenUpload(ex, type, this.#context, (verdict) => this.#begin(ex, type, client, verdict))
  }

  /** Each account has its own: no other is asked when one fails. */
  #serveStored(ex: Exchange): void {
    const { retry } = ex
    if (retry !== null && retry.route.plan === this.retry) retry.count = this.retry.attempts
    this.#stored.serve(ex)
  }

  /** The body is here, or will not be. */
  #begin(ex: Exchange, type: AiRouteType, client: ClientFormat, verdict: Verdict): void {
    // A timeout may have answered meanwhile, or the client may have gone.
    if (ex.response !== null || ex.responseDone) return
    if (verdict !== CONTINUE) {
      this.#context.fail(ex, ex.error ?? 'INTERNAL')
      return
    }
    const bytes = ex.requestBytes ?? Buffer.alloc(0)
    const form = passingForm(ex)?.form
    if (form !== undefined) {
      finishPreparation(ex, () => this.#first(ex, client, () => beside(ex, type) ?? singleText(form, 'model') ?? ''))
      return
    }
    if (bytes.length <= LARGE_BYTES) {
      finishPreparation(ex, () =>
        this.#first(ex, client, () => beside(ex, type) ?? modelAhead(bytes, contentTypeOf(ex)))
      )
      return
    }
    const isOpen = () => ex.response === null && !ex.responseDone
    whenSettled(elsewhere(ex, type, bytes, this.#context), isOpen, (model) => {
      if (model === null) this.#context.fail(ex, 'BODY_OVERLOAD')
      else finishPreparation(ex, () => this.#first(ex, client, model))
    })
  }

  /** `model`: throws FormatError where there is none. */
  #first(ex: Exchange, client: ClientFormat, model: () => string): void {
    try {
      this.#choose(ex, model(), client)
    } catch (error) {
      // An error thrown after a body has no caller to catch it.
      if (error instanceof FormatError) this.#refuse(ex, client, 400, error)
      else if (error instanceof RangeError) this.#refuse(ex, client, 400, new FormatError('', TOO_DEEP))
      else this.#context.fail(ex, 'INTERNAL')
    }
  }

  #choose(ex: Exchange, model: string, client: ClientFormat): void {
    const refusal = modelRefusal(ex, model)
    if (refusal !== null) {
      ex.dialect ??= errorDialectOf(client, ex)
      this.#context.fail(ex, noteRefusal(ex, refusal))
      return
    }
    const service = this.#serviceFor(ex, model)
    if (service === null && model === '') throw new FormatError('model', 'is required, and must be a string')
    if (service === null) {
      this.#refuse(ex, client, 404, new FormatError('model', noSuchModel(model)))
      return
    }
    // The plan is that of the model with the most providers: this one may have fewer.
    const { retry } = ex
    if (retry !== null && retry.route.plan === this.retry) {
      retry.count = this.retry.attempts - (service.retry?.attempts ?? 0)
    }
    service.serve(ex)
  }

  #isServed(requested: string): boolean {
    const alias = this.#aliases.get(requested)
    return this.#splits.has(alias ?? requested) || this.#modelFor(alias ?? requested, alias !== undefined) !== null
  }

  /** Null: there is none of this name. Throws FormatError. */
  #serviceFor(ex: Exchange, requested: string): CompiledBackend | null {
    const alias = this.#aliases.get(requested)
    const name = alias ?? requested
    const split = this.#splits.get(name)
    return split === undefined ? this.#modelFor(name, alias !== undefined) : this.#pick(ex, split)
  }

  /** An alias may show what is hidden otherwise. */
  #modelFor(name: string, isAlias: boolean): CompiledBackend | null {
    const model = this.#names.find(name)
    return model !== undefined && (model.isPublic || isAlias) ? model.service : null
  }

  #pick(ex: Exchange, { targets, total, keyOf }: Split): CompiledBackend {
    for (const { isFor, service } of targets) if (isFor?.(ex) === true) return service
    if (total === 0) throw new FormatError('model', 'none of the conditions of this model is true for the request')
    const key = keyOf?.(ex) ?? null
    let left = (key === null ? this.#random() : fnv(key) / 2 ** 32) * total
    for (const { weight, service } of targets) {
      left -= weight
      if (left < 0) return service
    }
    return targets[0]!.service
  }

  #refuse(ex: Exchange, client: ClientFormat, status: 400 | 404, { field, message }: FormatError): void {
    const text = field === '' || status === 404 ? message : `${field}: ${message}`
    const code = status === 404 && field === 'model' ? 'model_not_found' : null
    this.#context.reply(ex, refusalReply(ex, client, { status, message: text, code, param: field || null }))
  }

  #chosen({ serving }: Exchange): CompiledBackend | undefined {
    return serving === null ? undefined : this.#services.find((service) => service === serving.by)
  }

  /** One for all models; null when none of them has more than one provider. */
  #plan(): RetryPlan | null {
    const plans = this.#services.flatMap(({ retry }) => (retry == null ? [] : [retry]))
    if (plans.length === 0) return null
    return {
      ...plans[0]!,
      attempts: Math.max(...plans.map(({ attempts }) => attempts)),
      condition: (ex) => this.#chosen(ex)?.retry?.condition?.(ex) ?? false,
      peek: (ex) => this.#chosen(ex)?.retry?.peek?.(ex) ?? null,
      mayFollow: (ex, code) => this.#chosen(ex)?.retry?.mayFollow?.(ex, code) ?? true
    }
  }
}

/** An expression that fails is not true. */
function conditionOf(when: string | undefined): ((ex: Exchange) => boolean) | null {
  if (when === undefined) return null
  const program = compileExpression(when, REQUEST_HEAD_ROOTS, 'bool')
  return (ex) => program.run(ex) === true
}

const contentTypeOf = ({ request }: Exchange): string => request.get('content-type') ?? ''

/** The model where it does not stand in the body; null: it does. Throws FormatError. */
function beside(ex: Exchange, type: AiRouteType): string | null {
  const kind = isOperation(type) ? operationKind(type) : null
  if (kind !== null && 'modelOf' in kind && kind.modelOf !== undefined) return kind.modelOf(ex)
  const inPath = modelPathOf(ex.path)
  if (inPath !== null) return decodedName(inPath.name)
  return null
}

/** Of a large body, which another thread reads. The function throws FormatError. */
async function elsewhere(
  ex: Exchange,
  type: AiRouteType,
  bytes: Buffer,
  { offload }: BackendContext
): Promise<() => string> {
  if (beside(ex, type) !== null) return () => beside(ex, type)!
  const named = await readModelInPool(offloadFor(ex, offload), bytes, contentTypeOf(ex))
  return () => {
    if (named.kind === 'refused') throw new FormatError(named.field, named.message)
    return named.model
  }
}

const compile = (backend: ModelsBackend, context: BackendContext): CompiledBackend =>
  new ModelDispatcher(backend, context)

export const modelsBackend: BackendKind = {
  kind: 'models',
  protocol: 'llm',
  compile,
  models: modelsOfDispatcher
}
