// The time that a caller gives to what its thread asks for. Whatever iterates looks now and then whether it is up, and ends
// with the best that it has. This is the one thing that functions know without being told: it belongs to the thread, as a
// signal would, and is endless unless a caller says otherwise.
#pragma once

namespace vb {

// From now on, for this thread; infinity ends it.
void give_seconds(double seconds);

// Whether they have passed. Once they have, that stays so until others are given.
bool time_is_up();

}  // namespace vb
