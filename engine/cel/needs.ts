/** What an expression reads, so that nothing else has to be kept. */

const TIMES = ['proxy.requestProcessingDuration', 'proxy.upstreamDuration', 'proxy.responseProcessingDuration']

export class Needs {
  /** Each from its variable on: ["request", "headers", "x-tenant"]. */
  readonly paths: readonly (readonly string[])[]

  constructor(paths: readonly (readonly string[])[]) {
    const seen = new Set<string>()
    this.paths = paths.filter((path) => !seen.has(path.join('\0')) && seen.add(path.join('\0')))
  }

  /** Whether the variable or field ("request.body") or something inside it is read, or something it is part of. */
  reads(name: string): boolean {
    const parts = name.split('.')
    return this.paths.some((path) => path.slice(0, parts.length).every((part, i) => part === parts[i]))
  }

  /** Names read inside `name`, in lower case ("request.headers": the headers), or "all" when only a run can tell. */
  inside(name: string): ReadonlySet<string> | 'all' {
    const parts = name.split('.')
    const names = new Set<string>()
    for (const path of this.paths) {
      if (!path.slice(0, parts.length).every((part, i) => part === parts[i])) continue
      const next = path[parts.length]
      if (next === undefined) return 'all'
      names.add(next.toLowerCase())
    }
    return names
  }

  get requestBody(): boolean {
    return this.reads('request.body')
  }

  get responseBody(): boolean {
    return this.reads('response.body')
  }

  get requestPrefix(): boolean {
    return this.reads('request.bodyPrefix')
  }

  get responsePrefix(): boolean {
    return this.reads('response.bodyPrefix')
  }

  /** Some part of a body. */
  get anyBody(): boolean {
    return this.requestBody || this.responseBody || this.requestPrefix || this.responsePrefix
  }

  /** Times that are only taken where an expression reads them. */
  get times(): boolean {
    return TIMES.some((name) => this.reads(name))
  }

  /** Why a target of a model was drawn, which is only worked out where an expression reads it. */
  get routing(): boolean {
    return this.reads('llm.routing')
  }

  get requestHeaders(): ReadonlySet<string> | 'all' {
    return this.inside('request.headers')
  }

  get responseHeaders(): ReadonlySet<string> | 'all' {
    return this.inside('response.headers')
  }
}
