/** A certificate of its own for a controller that is given none. */

/** PEM. It is its own authority: `cert` is what data planes trust. `names`: DNS names and addresses. */
export function makeCertificate(_options: {
  readonly names: readonly string[]
  readonly validDays: number
  /** Milliseconds of the wall clock. */
  readonly now: number
}): { readonly cert: string; readonly key: string } {
  return { cert: '', key: '' }
}
