/** The one door to the schema library, and the leaf types of spec 2.1 that several schemas share. */
import { type ZodType, z } from 'zod'

export { type ZodType, z }

/** Spec 2.1: length 1..256. */
export const shortString = () => z.string().min(1).max(256)
/** Spec 2.1: length 1..64. */
export const tinyString = () => z.string().min(1).max(64)
/** Spec 2.1: length 1..1024. */
export const longString = () => z.string().min(1).max(1024)
