/** Dynamic metadata of services: what reads it goes down into each map and list. */

export const METADATA_DEPTH_MAX = 32
