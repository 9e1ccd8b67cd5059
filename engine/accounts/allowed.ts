/** What the accounts of a call say together: of a key, its team and its organisation. */
import type { ModelNames } from './model-names.ts'

/** As much of an Account as says it. */
interface AllowingAccount {
  readonly budgets: readonly unknown[]
  readonly concurrency: unknown
  readonly models: ModelNames | null
}

export class Allowed {
  readonly #accounts: readonly AllowingAccount[]

  constructor(accounts: readonly AllowingAccount[]) {
    this.#accounts = accounts
  }

  get hasBudget(): boolean {
    return this.#accounts.some(({ budgets }) => budgets.length > 0)
  }

  get isCounted(): boolean {
    return this.#accounts.some(({ concurrency }) => concurrency !== null)
  }

  get isRestricted(): boolean {
    return this.#accounts.some(({ models }) => models !== null)
  }

  /** Those that are no patterns, and that all levels allow. */
  get modelNames(): readonly string[] {
    const exact = this.#accounts.flatMap(({ models }) => models?.exact ?? [])
    return [...new Set(exact)].filter((name) => this.mayUse(name))
  }

  mayUse(model: string): boolean {
    return this.#accounts.every(({ models }) => models === null || models.has(model))
  }
}
